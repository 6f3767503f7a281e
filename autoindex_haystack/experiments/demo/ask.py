"""Asking the demo's questions through the Haystack pipelines that come with a frozen component, before and after."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from haystack import Document, Pipeline
from haystack.core.errors import PipelineRuntimeError

from autoindex_haystack.collection import Qrels
from autoindex_haystack.errors import AutoIndexError
from autoindex_haystack.evaluation.metrics import DEPTH
from autoindex_haystack.sandbox import Isolation

_SUFFIXES = {"bm25s": "yaml", "lucene": "lucene.yaml"}


@dataclass(frozen=True)
class Comparison:
    """One question with the answers of two components on one engine.

    :param query_id: The question's id.
    :param question: The question.
    :param relevant: Document id to grade, above 0.
    :param before: Ids of the documents found before, best first.
    :param after: Ids of the documents found after.
    """

    query_id: str
    question: str
    relevant: Mapping[str, int]
    before: Sequence[str]
    after: Sequence[str]

    @property
    def rank_before(self) -> int | None:
        """The rank of the first relevant document before, from 1; None when it is not found."""
        return self._rank(self.before)

    @property
    def rank_after(self) -> int | None:
        """The same after."""
        return self._rank(self.after)

    @property
    def gain(self) -> float:
        """How much higher the first relevant document stands: the difference of the reciprocal ranks."""
        return _reciprocal(self.rank_after) - _reciprocal(self.rank_before)

    def _rank(self, found: Sequence[str]) -> int | None:
        return next((rank for rank, document in enumerate(found, start=1) if document in self.relevant), None)


def index_documents(frozen: Path, backend: str, documents: list[Document], isolation: Isolation = "full") -> int:
    """Index documents with a frozen component's indexing pipeline.

    :param frozen: The component's folder.
    :param backend: ``bm25s`` or ``lucene``.
    :param documents: The documents.
    :param isolation: How the program's processes are isolated.
    :returns: How many chunks were written.
    :raises AutoIndexError: If the engine is missing or the program fails.
    """
    with _own_errors(), closing(_load(frozen, "indexing", backend)) as pipeline:
        pipeline.get_component("preprocessor").isolation = isolation  # type: ignore[attr-defined]
        written: int = pipeline.run({"preprocessor": {"documents": documents}})["writer"]["documents_written"]
        return written


def ask(frozen: Path, backend: str, questions: Iterable[str], top_k: int = DEPTH) -> list[list[Document]]:
    """Ask questions with a frozen component's query pipeline.

    :param frozen: The component's folder, with an index of :func:`index_documents`.
    :param backend: ``bm25s`` or ``lucene``.
    :param questions: The questions' texts.
    :param top_k: How many documents at most.
    :returns: For each question the original documents, best first.
    :raises AutoIndexError: If the engine is missing.
    """
    with _own_errors(), closing(_load(frozen, "query", backend)) as pipeline:
        return [
            pipeline.run({"retriever": {"query": question, "top_k": top_k}})["retriever"]["documents"]
            for question in questions
        ]


def compare(before: Path, after: Path, backend: str, queries: Mapping[str, str], qrels: Qrels) -> list[Comparison]:
    """Ask two components the same questions on one engine.

    :param before: A frozen component's folder.
    :param after: The other's.
    :param backend: ``bm25s`` or ``lucene``.
    :param queries: Query id to question.
    :param qrels: The judgments.
    :returns: A comparison for each question, in their order.
    :raises AutoIndexError: If the engine is missing.
    """
    found = [ask(frozen, backend, queries.values()) for frozen in (before, after)]
    return [
        Comparison(
            query_id=query,
            question=queries[query],
            relevant={document: grade for document, grade in qrels[query].items() if grade > 0},
            before=[document.id for document in one],
            after=[document.id for document in other],
        )
        for query, one, other in zip(queries, *found, strict=True)
    ]


def most_telling(comparisons: Sequence[Comparison], better: int = 3, worse: int = 1) -> list[Comparison]:
    """Choose the questions whose first relevant document rose most, and those where it fell most.

    :param comparisons: The comparisons.
    :param better: How many questions that gained.
    :param worse: How many that lost, if there are any: a demo that hid them would be no measurement.
    :returns: The chosen ones, best first.
    """
    ordered = sorted(comparisons, key=lambda comparison: (-comparison.gain, comparison.query_id))
    gained = [comparison for comparison in ordered if comparison.gain > 0][:better]
    lost = [comparison for comparison in ordered if comparison.gain < 0][-worse:] if worse else []
    return gained + lost if gained or lost else ordered[:better]


def _load(frozen: Path, kind: str, backend: str) -> Pipeline:
    with (frozen / f"{kind}.{_SUFFIXES[backend]}").open(encoding="utf-8") as file:
        return Pipeline.load(file)


@contextmanager
def _own_errors() -> Iterator[None]:
    """Give our own errors back that a pipeline has wrapped."""
    try:
        yield
    except PipelineRuntimeError as error:
        if isinstance(error.__cause__, AutoIndexError):
            raise error.__cause__ from error
        raise


def _reciprocal(rank: int | None) -> float:
    return 1 / rank if rank else 0.0
