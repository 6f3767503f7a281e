"""The ranker that turns a ranking of chunks, of any retriever, into one of documents."""

import asyncio
import math
from typing import Any, Literal, get_args

import numpy as np
from haystack import Document, component, default_from_dict, default_to_dict, logging
from dataclasses import replace

from autoindex_haystack.retrieval import Hits
from autoindex_haystack.retrieval.ranking import code_point_order, max_p

logger = logging.getLogger(__name__)

Aggregation = Literal["max", "mean", "first", "sum"]


@component
class MaxPAggregator:
    """Keeps one chunk a document, the best one, and ranks documents by it (MaxP).

    Use it after any retriever that returns chunks: embedding retrievers, or the BM25 of OpenSearch and others. Evaluators
    that count ranks need it too, for several chunks of a document would count as several documents.
    ``RepresentationRetriever`` does this itself.

    The order is by score rounded to four decimals, then by source id, so that engines that differ in the last digits of a
    score agree. A document whose chunks have no score, or none that is finite, comes after all others, in input order.

    ### Usage example

    ```python
    from haystack import Document
    from haystack_integrations.components.rankers.autoindex import MaxPAggregator

    chunks = [
        Document(content="wings", meta={"source_id": "aircraft"}, score=2.5),
        Document(content="birds", meta={"source_id": "animals"}, score=2.0),
        Document(content="engines", meta={"source_id": "aircraft"}, score=1.5),
    ]
    documents = MaxPAggregator().run(documents=chunks)["documents"]
    assert [document.content for document in documents] == ["wings", "birds"]
    ```
    """

    def __init__(
        self,
        source_key: str = "source_id",
        *,
        top_k: int | None = None,
        aggregation: Aggregation = "max",
        mean_of: int = 3,
        raise_on_missing_meta_fields: bool = True,
    ) -> None:
        """Create the component.

        :param source_key: The key of meta that says which document a chunk belongs to.
        :param top_k: How many documents to return at most; all when not given.
        :param aggregation: What a document's score is: that of its best chunk (``max``), the mean of its best few
            (``mean``), that of its first one in the input (``first``), or the sum of all (``sum``).
        :param mean_of: How many chunks ``mean`` looks at; a document with fewer has the mean of those it has.
        :param raise_on_missing_meta_fields: Raise an error when a chunk does not say which document it belongs to.
            Otherwise it stands for itself.
        :raises ValueError: If ``top_k`` or ``mean_of`` is not greater than 0, or ``aggregation`` is unknown.
        """
        if aggregation not in get_args(Aggregation):
            msg = f"aggregation must be one of {', '.join(get_args(Aggregation))}, but got {aggregation!r}"
            raise ValueError(msg)
        if mean_of <= 0:
            msg = f"mean_of must be greater than 0, but got {mean_of}"
            raise ValueError(msg)
        _check_top_k(top_k)
        self.source_key = source_key
        self.top_k = top_k
        self.aggregation = aggregation
        self.mean_of = mean_of
        self.raise_on_missing_meta_fields = raise_on_missing_meta_fields

    def to_dict(self) -> dict[str, Any]:
        """Serialize the component.

        :returns: A dictionary that :meth:`from_dict` reads.
        """
        return default_to_dict(
            self,
            source_key=self.source_key,
            top_k=self.top_k,
            aggregation=self.aggregation,
            mean_of=self.mean_of,
            raise_on_missing_meta_fields=self.raise_on_missing_meta_fields,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "MaxPAggregator":
        """Make a component from what :meth:`to_dict` gave.

        :param data: The dictionary.
        :returns: The component.
        """
        return default_from_dict(cls, data)
