"""The evaluator of rankings: metrics with cut-offs, computed on the documents that chunks stand for."""

import re
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from haystack_integrations.common.autoindex import is_document_list

_METRIC = re.compile(r"(recall|ndcg|mrr|precision)@([1-9][0-9]*)")


@component
class RankingEvaluator:
    """Scores retrieved documents against those that should have been found: Recall@k, nDCG@k, MRR@k, Precision@k.

    Use it after ``RepresentationRetriever``, or after any retriever of chunks: chunks of one document count as one
    rank, its best. Documents are compared by the id of the document they stand for (``source_id`` in their meta, else
    their own id). The metrics are computed by ir_measures, as everywhere in AutoIndex.

    ### Usage example

    ```python
    from haystack import Document
    from haystack_integrations.components.evaluators.autoindex import RankingEvaluator

    evaluator = RankingEvaluator(metrics=["recall@2", "ndcg@10"])
    result = evaluator.run(
        ground_truth_documents=[[Document(id="wings"), Document(id="engines")]],
        retrieved_documents=[
            [
                Document(id="wings#0", meta={"source_id": "wings"}),
                Document(id="wings#1", meta={"source_id": "wings"}),
                Document(id="birds#0", meta={"source_id": "birds"}),
            ]
        ],
    )
    assert result["metrics"]["recall@2"] == 0.5
    ```
    """

    def __init__(self, metrics: Sequence[str] = ("recall@100", "ndcg@10"), *, source_key: str = "source_id") -> None:
        """Create the component.

        :param metrics: ``recall@k``, ``ndcg@k``, ``mrr@k`` or ``precision@k`` for any k; ``score`` is the first one's.
        :param source_key: The key of meta that says which document a chunk belongs to.
        :raises ValueError: If there is no metric, or one is unknown.
        """
        self.metrics = list(metrics)
        self.source_key = source_key
        if not self.metrics:
            msg = "metrics must name at least one metric, such as recall@100"
            raise ValueError(msg)
        for metric in self.metrics:
            if not _METRIC.fullmatch(metric):
                msg = f"a metric must be recall@k, ndcg@k, mrr@k or precision@k, but got {metric!r}"
                raise ValueError(msg)

    def to_dict(self) -> dict[str, Any]:
        """Serialize the component.

        :returns: A dictionary that :meth:`from_dict` reads.
        """
        return default_to_dict(self, metrics=self.metrics, source_key=self.source_key)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "RankingEvaluator":
        """Make a component from what :meth:`to_dict` gave.

        :param data: The dictionary.
        :returns: The component.
        """
        return default_from_dict(cls, data)

    @component.output_types(
        score=float, individual_scores=list[float], metrics=dict[str, float], per_query=list[dict[str, float]]
    )
    def run(
        self, ground_truth_documents: list[list[Document]], retrieved_documents: list[list[Document]]
    ) -> dict[str, Any]:
        """Score rankings.

        :param ground_truth_documents: For each query the relevant documents. A ``score`` is the grade, rounded to a
            whole number; without one it is 1. One of grade 0 or below is not relevant.
        :param retrieved_documents: For each query what was retrieved, best first.
        :returns: A dictionary with the keys ``score`` and ``individual_scores`` (the first metric: its mean, and its
            value for each query), ``metrics`` (the mean of each metric) and ``per_query`` (each metric for each query).
            A query without any relevant document has 0.
        :raises ValueError: If there are no queries, or not as many rankings as lists of relevant documents.
        :raises TypeError: If something else than lists of Documents is given.
        """
        if len(ground_truth_documents) != len(retrieved_documents) or not retrieved_documents:
            msg = (
                "ground_truth_documents and retrieved_documents need an entry for each query, at least one; got "
                f"{len(ground_truth_documents)} and {len(retrieved_documents)}"
            )
            raise ValueError(msg)
        if not all(map(is_document_list, (*ground_truth_documents, *retrieved_documents))):
            msg = "RankingEvaluator expects lists of lists of Documents as input."
            raise TypeError(msg)
        per_query = self._scores(ground_truth_documents, retrieved_documents)
        means = {metric: fmean(scores[metric] for scores in per_query) for metric in self.metrics}
        first = self.metrics[0]
        return {
            "score": means[first],
            "individual_scores": [scores[first] for scores in per_query],
            "metrics": means,
            "per_query": per_query,
        }

    def _scores(
        self, truth: Sequence[Sequence[Document]], retrieved: Sequence[Sequence[Document]]
    ) -> list[dict[str, float]]:
        import ir_measures

        measures = {_measure(metric): metric for metric in self.metrics}
        scores = [dict.fromkeys(self.metrics, 0.0) for _ in truth]
        # Short names of its own: the engine of ir_measures aborts the process for some characters in ids.
        names: dict[str, str] = {}
        qrels, run = [], []
        for query, (relevant, found) in enumerate(zip(truth, retrieved, strict=True)):
            for document in relevant:
                grade = 1 if document.score is None else round(document.score)
                name = names.setdefault(self._source_id(document), str(len(names)))
                qrels.append(ir_measures.Qrel(str(query), name, max(0, grade)))
            for rank, source in enumerate(dict.fromkeys(map(self._source_id, found))):
                run.append(ir_measures.ScoredDoc(str(query), names.setdefault(source, str(len(names))), float(-rank)))
        for value in ir_measures.iter_calc(list(measures), qrels, run):
            scores[int(value.query_id)][measures[value.measure]] = value.value
        return scores

    def _source_id(self, document: Document) -> str:
        source = document.meta.get(self.source_key)
        return document.id if source is None else str(source)


def _measure(metric: str) -> Any:
    from ir_measures import RR, P, R, nDCG

    name, _, cutoff = metric.partition("@")
    return {"recall": R, "ndcg": nDCG, "mrr": RR, "precision": P}[name] @ int(cutoff)
