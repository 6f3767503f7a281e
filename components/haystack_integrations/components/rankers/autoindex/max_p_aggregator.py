"""The ranker that turns a ranking of chunks, of any retriever, into one of documents."""

import asyncio
import math
from collections.abc import Sequence
from typing import Any, Literal, cast, get_args

import numpy as np
from haystack import Document, component, default_from_dict, default_to_dict
from numpy.typing import NDArray

from autoindex_haystack.retrieval import Hits, Ranking
from autoindex_haystack.retrieval.ranking import code_point_order, max_p
from haystack_integrations.common.autoindex import is_document_list, make_document

Aggregation = Literal["max", "mean", "first", "sum"]


@component
class MaxPAggregator:
    """Keeps one chunk a document, the best one, and ranks documents by it (MaxP).

    Use it after any retriever that returns chunks: embedding retrievers, or the BM25 of OpenSearch and others.
    Evaluators that count ranks need it too, for several chunks of a document would count as several documents.
    ``RepresentationRetriever`` does this itself.

    The order is by score rounded to four decimals, then by source id, so that engines that differ in the last digits of
    a score agree. A document whose chunks have no score, or none that is finite, comes after all others, in input
    order.

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

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document], top_k: int | None = None) -> dict[str, list[Document]]:
        """Turn a ranking of chunks into one of documents.

        :param documents: The chunks; they are not changed.
        :param top_k: How many documents to return at most; what the component was created with when not given.
        :returns: A dictionary with the key ``documents``: for each document its best chunk with the document's score,
            best first.
        :raises TypeError: If something else than a list of Documents is given.
        :raises ValueError: If ``top_k`` is not greater than 0, or a chunk does not say which document it belongs to.
        """
        if not is_document_list(documents):
            msg = "MaxPAggregator expects a list of Documents as input."
            raise TypeError(msg)
        top_k = self.top_k if top_k is None else top_k
        _check_top_k(top_k)
        sources = [self._source_id(document) for document in documents]
        ranking = self._rank(documents, sources)
        ranked = [
            make_document(documents[position], score=score)
            for position, score in zip(ranking.chunks.tolist(), ranking.scores.tolist(), strict=True)
        ]
        done = {sources[position] for position in ranking.chunks.tolist()}
        rest = {source: i for i, source in reversed(list(enumerate(sources))) if source not in done}
        return {"documents": [*ranked, *(documents[position] for position in sorted(rest.values()))][:top_k]}

    @component.output_types(documents=list[Document])
    async def run_async(self, documents: list[Document], top_k: int | None = None) -> dict[str, list[Document]]:
        """Turn a ranking of chunks into one of documents; the same as :meth:`run`.

        :param documents: The chunks; they are not changed.
        :param top_k: How many documents to return at most; what the component was created with when not given.
        :returns: A dictionary with the key ``documents``: for each document its best chunk with the document's score,
            best first.
        :raises TypeError: If something else than a list of Documents is given.
        :raises ValueError: If ``top_k`` is not greater than 0, or a chunk does not say which document it belongs to.
        """
        return await asyncio.to_thread(self.run, documents, top_k)

    def _source_id(self, document: Document) -> str:
        source = document.meta.get(self.source_key)
        if source is None and self.raise_on_missing_meta_fields:
            msg = f"The documents must have '{self.source_key}' in their metadata, but {document.id} has not."
            raise ValueError(msg)
        return document.id if source is None else str(source)

    def _rank(self, documents: Sequence[Document], sources: Sequence[str]) -> Ranking:
        """Rank the sources that have a score; chunks are positions in the input."""
        ids = list(dict.fromkeys(sources))
        numbers = {source: number for number, source in enumerate(ids)}
        owners = np.array([numbers[source] for source in sources], np.int64)
        order = code_point_order(ids)
        scored = [i for i, document in enumerate(documents) if _is_finite(document.score)]
        ranking = _max_p(scored, [documents[i].score for i in scored], owners, order)
        if self.aggregation == "max":
            return ranking
        best = dict(zip(ranking.ordinals.tolist(), ranking.chunks.tolist(), strict=True))
        found: dict[int, list[int]] = {}
        for i in scored:
            found.setdefault(owners[i].item(), []).append(i)
        chosen = [positions[0] if self.aggregation == "first" else best[owner] for owner, positions in found.items()]
        scores = [self._combine([documents[i].score for i in positions]) for positions in found.values()]
        return _max_p(chosen, scores, owners, order)

    def _combine(self, scores: Sequence[Any]) -> float:
        """The score of a document from those of its chunks, in the order of the input."""
        if self.aggregation == "first":
            return float(scores[0])
        used = sorted(scores, reverse=True)[: self.mean_of] if self.aggregation == "mean" else scores
        return math.fsum(used) / (len(used) if self.aggregation == "mean" else 1)


def _max_p(
    positions: Sequence[int], scores: Sequence[float | None], owners: NDArray[np.int64], order: NDArray[np.int64]
) -> Ranking:
    """The core's MaxP over some positions of the input; the core wants the chunks of a document to stand together."""
    chosen = np.array(positions, np.int64)
    together = np.argsort(owners[chosen], kind="stable")
    chosen = chosen[together]
    # Engines score in single precision, other retrievers in double: what a chunk came with is kept.
    precise = cast(NDArray[np.float32], np.array(scores, np.float64)[together])
    ranking = max_p(Hits(np.arange(len(chosen)), precise, exhausted=True), owners[chosen], order, len(order))
    return Ranking(ranking.ordinals, ranking.scores, chosen[ranking.chunks])


def _is_finite(score: float | None) -> bool:
    return score is not None and math.isfinite(score)


def _check_top_k(top_k: int | None) -> None:
    if top_k is not None and top_k <= 0:
        msg = f"top_k must be greater than 0, but got {top_k}"
        raise ValueError(msg)
