"""J(θ): run a program over the corpus, index its chunks, rank with the fixed retriever, score the queries."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.collection import Collection
from autoindex_haystack.evaluation.diagnosis import Diagnosis, count_terms
from autoindex_haystack.evaluation.lookup import Lookup
from autoindex_haystack.evaluation.metrics import (
    DEPTH,
    OBJECTIVE,
    SMOOTH_DEPTH,
    SMOOTH_RECALL,
    PerQuery,
    means,
    score_queries,
    smooth_recall,
)
from autoindex_haystack.evaluation.reachable import check_reachable, documents_with_token
from autoindex_haystack.program import Program
from autoindex_haystack.retrieval import BM25Settings, ChunkTable, Index, Ranking, get_backend
from autoindex_haystack.retrieval.lucene_model import Departures
from autoindex_haystack.sandbox import (
    DocumentFile,
    IsCancelled,
    Isolation,
    Limits,
    ProgramOutput,
    ProgramRunner,
    check_same_output,
    check_stability,
    document_digests,
)

Progress = Callable[[str, int, int], None]
"""Called with the name of the phase, how much of it is done and how much there is."""

_TRIAL_DOCUMENTS = 200
_TRIAL_SECONDS = 60.0
"""What a trial run of a program looks at, and how long it may take."""


@dataclass(frozen=True)
class Evaluation:
    """What a program achieved on a set of queries.

    :param program_sha256: The program's hash.
    :param scores: Query id to metric to value.
    :param metrics: Metric to mean over the queries.
    :param chunks: Number of chunks.
    :param chunk_bytes: Their size in bytes of UTF-8.
    :param growth: ``chunk_bytes`` relative to the titles and texts of the corpus.
    :param unreachable: Ids of documents that had a token but have none in any chunk, so that no query finds them.
    :param state: What the program learned from the corpus.
    :param rankings: Query id to the best documents' ids and scores.
    :param seconds: Wall-clock time by phase.
    :param digests: uint64, shape (documents,): a hash of each document's chunks.
    """

    program_sha256: str
    scores: PerQuery
    metrics: dict[str, float]
    chunks: int
    chunk_bytes: int
    growth: float
    unreachable: tuple[str, ...]
    state: dict[str, Any]
    rankings: dict[str, list[tuple[str, float]]]
    seconds: dict[str, float] = field(default_factory=dict)
    digests: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64), repr=False, compare=False)

    @property
    def objective(self) -> float:
        """Mean Recall@100, what the search maximizes."""
        return self.metrics[OBJECTIVE]


@dataclass(frozen=True)
class Begun:
    """A program that has run over a part of the corpus, and may go on.

    :param output: What it made of that part; the chunks stand in the order of the corpus.
    :param state: What it learned from the whole corpus.
    :param done: bool, shape (documents,): the part.
    :param seconds: Wall-clock time by phase.
    """

    output: ProgramOutput
    state: dict[str, Any]
    done: NDArray[np.bool_]
    seconds: dict[str, float]


class Evaluator:
    """Evaluates programs on one collection, with the retriever held fixed. Close it after use.

    :param collection: The collection.
    :param settings: BM25 parameters and analyzer.
    :param backend: Name of the engine.
    :param limits: What a program may use and return.
    :param workers: Worker processes a program.
    :param allowed_imports: Modules that programs may import beside the usual ones.
    :param key: Key of the opaque ids that programs see; fresh when not given.
    :param isolation: ``full``, or ``process-only`` for workers that the kernel does not lock.

    ```python
    from autoindex_haystack.evaluation import Evaluator
    from autoindex_haystack.program import builtin_program

    with Evaluator(collection) as evaluator:
        print(evaluator.evaluate(builtin_program("full_document"), collection.queries).metrics)
    ```
    """

    def __init__(
        self,
        collection: Collection,
        settings: BM25Settings = BM25Settings(),  # noqa: B008 - frozen
        *,
        backend: str = "bm25s",
        limits: Limits = Limits(),  # noqa: B008 - frozen
        workers: int = 1,
        allowed_imports: Sequence[str] = (),
        key: bytes | None = None,
        isolation: Isolation = "full",
    ) -> None:
        self.collection = collection
        self.settings = settings
        self.backend = backend
        self._limits = limits
        self._workers = workers
        self._allowed_imports = tuple(allowed_imports)
        self._key = key
        self._isolation: Isolation = isolation
        self.layers: tuple[str, ...] = ()
        self._documents = DocumentFile(collection.documents)
        self._reachable = documents_with_token(collection.documents, settings.analyzer)

    def evaluate(
        self,
        program: Program,
        queries: Iterable[str],
        *,
        state: Mapping[str, Any] | None = None,
        begun: Begun | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> Evaluation:
        """Evaluate a program; several threads may do so at a time.

        :param program: The program.
        :param queries: Ids of the queries to score.
        :param state: What a frozen component learned before; without it the program calibrates on this corpus.
        :param begun: What :meth:`begin` gave for the program: only the rest of the corpus is run over.
        :param workers: Worker processes, when it shall be another number than the evaluator's.
        :param progress: Called as the work goes on.
        :param cancelled: Asked several times a second whether the work shall be called off.
        :returns: The outcome.
        :raises ProgramError: If the program fails, breaks a limit or leaves too many documents unreachable.
        :raises Cancelled: If it was called off.
        """
        how: dict[str, Any] = {"workers": workers, "progress": progress, "cancelled": cancelled}
        if begun is None:
            begun = self._run(program, range(len(self._documents)), state=state, **how)
        elif not begun.done.all():
            begun = self._go_on(program, begun, **how)
        chunks, learned, seconds = begun.output.chunks, begun.state, dict(begun.seconds)
        unreachable = check_reachable(self._reachable, chunks, self.settings.analyzer, self._limits.unreachable)
        began = time.monotonic()
        if progress:
            progress("indexing", 0, 0)
        with get_backend(self.backend).build(chunks, self.settings) as index:
            seconds["index"] = time.monotonic() - began
            if progress:
                progress("searching", 0, 0)
            evaluation = self.score(program, index, chunks, list(queries), learned, unreachable, seconds)
        return replace(evaluation, digests=document_digests(chunks))

    def begin(
        self,
        program: Program,
        ordinals: NDArray[np.int64],
        *,
        workers: int | None = None,
        progress: Progress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> Begun:
        """Let a program calibrate on the whole corpus and run over a part of it; :meth:`evaluate` goes on from there.

        :param program: The program.
        :param ordinals: The documents of the part.
        :param workers: Worker processes, when it shall be another number than the evaluator's.
        :param progress: Called as the work goes on.
        :param cancelled: Asked several times a second whether the work shall be called off.
        :returns: What it made of the part.
        :raises ProgramError: If the program fails or breaks a limit.
        :raises Cancelled: If it was called off.
        """
        return self._run(program, ordinals.tolist(), workers=workers, progress=progress, cancelled=cancelled)

    def run(
        self, program: Program, *, state: Mapping[str, Any] | None = None, progress: Progress | None = None
    ) -> tuple[ChunkTable, dict[str, Any]]:
        """Run a program over the corpus, calibrating first where it does.

        :param program: The program.
        :param state: A state learned before.
        :param progress: Called as the work goes on.
        :returns: The chunks and the state.
        :raises ProgramError: If the program fails or breaks a limit.
        """
        begun = self._run(program, range(len(self._documents)), state=state, progress=progress)
        return begun.output.chunks, begun.state

    def _run(
        self,
        program: Program,
        ordinals: Sequence[int],
        *,
        state: Mapping[str, Any] | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> Begun:
        program.check(self._allowed_imports)
        began = time.monotonic()
        learned = dict(state) if state is not None else None
        with self._runner(program, learned, workers, cancelled) as runner:
            learned = runner.calibrate() if learned is None else learned
            calibrated = time.monotonic()
            check_stability(
                program,
                self.collection.documents,
                state=learned,
                limits=self._limits,
                allowed_imports=self._allowed_imports,
                isolation=self._isolation,
                cancelled=cancelled,
            )
            output = runner.run(ordinals=ordinals, progress=_told(progress, 0, len(ordinals)))
            self.layers = runner.layers
        done = np.zeros(len(self._documents), np.bool_)
        done[np.asarray(ordinals, np.int64)] = True
        seconds = {"calibrate": calibrated - began, "program": time.monotonic() - calibrated}
        return Begun(output, learned, done, seconds)

    def _go_on(
        self,
        program: Program,
        begun: Begun,
        *,
        workers: int | None,
        progress: Progress | None,
        cancelled: IsCancelled | None,
    ) -> Begun:
        """Run a program over what is left of the corpus."""
        began = time.monotonic()
        left = np.flatnonzero(~begun.done)
        count = len(begun.done)
        with self._runner(program, begun.state, workers, cancelled) as runner:
            tell = _told(progress, count - len(left), count)
            rest = runner.run(ordinals=left.tolist(), before=begun.output, progress=tell)
        chunks = begun.output.chunks.merged(rest.chunks)
        output = ProgramOutput(chunks, seconds=begun.output.seconds + rest.seconds)
        seconds = {**begun.seconds, "program": begun.seconds["program"] + time.monotonic() - began}
        return Begun(output, begun.state, np.ones(count, np.bool_), seconds)

    def _runner(
        self, program: Program, state: dict[str, Any] | None, workers: int | None, cancelled: IsCancelled | None
    ) -> ProgramRunner:
        return ProgramRunner(
            program,
            self._documents,
            state=state,
            limits=self._limits,
            workers=workers or self._workers,
            allowed_imports=self._allowed_imports,
            key=self._key,
            isolation=self._isolation,
            cancelled=cancelled,
        )

    def check_again(self, program: Program, before: Evaluation) -> None:
        """Run a program over the whole corpus once more under other circumstances, and compare.

        :param program: The program.
        :param before: Its evaluation.
        :raises ProgramError: If it learns or returns something else; the message shows the first such document.
        """
        check_same_output(
            program,
            self._documents,
            before.digests,
            state=before.state,
            limits=self._limits,
            workers=self._workers,
            allowed_imports=self._allowed_imports,
            isolation=self._isolation,
        )

    def look_up(self, program: Program, *, state: Mapping[str, Any] | None = None) -> Lookup:
        """Run a program once more and index its chunks, to search them by hand.

        :param program: The program.
        :param state: What it learned when it was evaluated.
        :returns: The open index; to be closed by the caller.
        :raises ProgramError: If the program fails or breaks a limit.
        """
        chunks, _ = self.run(program, state=state)
        return Lookup(chunks, get_backend(self.backend).build(chunks, self.settings))

    def try_out(self, program: Program) -> None:
        """Run a program over some documents, to find most faults in a moment.

        It calibrates on them, and its output must not depend on circumstances.

        :param program: The program.
        :raises ProgramError: If it fails.
        """
        program.check(self._allowed_imports)
        documents = self.collection.documents
        limits = replace(self._limits, seconds=min(_TRIAL_SECONDS, self._limits.seconds), corpus_growth=None)
        how: dict[str, Any] = {
            "limits": limits,
            "allowed_imports": self._allowed_imports,
            "isolation": self._isolation,
        }
        sample = documents[:: max(1, len(documents) // _TRIAL_DOCUMENTS)][:_TRIAL_DOCUMENTS]
        with DocumentFile(sample) as file, ProgramRunner(program, file, **how) as runner:
            learned = runner.calibrate()
        check_stability(program, documents, state=learned, **how)

    def diagnose(
        self, program: Program, queries: Iterable[str], *, state: Mapping[str, Any] | None = None
    ) -> Diagnosis:
        """Run a program once more, to say why documents are missed under it.

        :param program: The program.
        :param queries: Ids of the queries that will be asked about.
        :param state: What it learned when it was evaluated.
        :returns: The diagnosis.
        :raises ProgramError: If the program fails or breaks a limit.
        """
        chunks, _ = self.run(program, state=state)
        texts = {query: self.collection.queries[query] for query in queries}
        departures = Departures() if self.backend == "lucene" else None
        postings = count_terms(chunks, texts.values(), self.settings, departures)
        return Diagnosis(postings, self.collection.documents, texts, self.collection.qrels)

    def score(
        self,
        program: Program,
        index: Index,
        chunks: ChunkTable,
        queries: Sequence[str],
        state: dict[str, Any],
        unreachable: tuple[str, ...],
        seconds: dict[str, float],
    ) -> Evaluation:
        """Rank and score queries on an index of a program's chunks; see :meth:`evaluate`."""
        began = time.monotonic()
        texts = [self.collection.queries[query] for query in queries]
        found = dict(zip(queries, index.search_documents(texts, SMOOTH_DEPTH), strict=True))
        rankings = {query: self._named(ranking) for query, ranking in found.items()}
        ranked = {query: [document for document, _ in ranking] for query, ranking in rankings.items()}
        scores = score_queries(ranked, self.collection.qrels)
        for query, ranking in found.items():
            scores[query][SMOOTH_RECALL] = self._smooth_recall(query, ranking)
        seconds["search"] = time.monotonic() - began
        size = sum(map(_utf8_length, chunks.texts))
        return Evaluation(
            program_sha256=program.sha256,
            scores=scores,
            metrics=means(scores),
            chunks=len(chunks),
            chunk_bytes=size,
            growth=size / max(1, self.corpus_bytes),
            unreachable=unreachable,
            state=state,
            rankings=rankings,
            seconds=seconds,
        )

    @cached_property
    def corpus_bytes(self) -> int:
        """Bytes of all titles and texts."""
        return sum(_utf8_length(text) + _utf8_length(str(meta.get("title") or "")) for text, meta in self._texts())

    def close(self) -> None:
        """Release the document file."""
        self._documents.close()

    def __enter__(self) -> "Evaluator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _texts(self) -> Iterable[tuple[str, Mapping[str, Any]]]:
        return ((document.text, document.metadata) for document in self.collection.documents)

    def _named(self, ranking: Ranking) -> list[tuple[str, float]]:
        """The best documents, as deep as the metrics look."""
        ids = self.collection.document_ids
        best = zip(ranking.ordinals[:DEPTH].tolist(), ranking.scores[:DEPTH].tolist(), strict=True)
        return [(ids[d], s) for d, s in best]

    def _smooth_recall(self, query: str, ranking: Ranking) -> float:
        relevant = self._relevant[query]
        ranks = np.flatnonzero(np.isin(ranking.ordinals, relevant)) + 1
        return smooth_recall(ranks, len(relevant))

    @cached_property
    def _relevant(self) -> dict[str, NDArray[np.int64]]:
        """Query id to the ordinals of its relevant documents; -1 for those that are not in the corpus."""
        ordinals = {document: i for i, document in enumerate(self.collection.document_ids)}
        return {
            query: np.array([ordinals.get(document, -1) for document, grade in grades.items() if grade > 0], np.int64)
            for query, grades in self.collection.qrels.items()
        }


def _told(progress: Progress | None, before: int, total: int) -> Callable[[int], None] | None:
    """What the runner calls: documents were done before that it does not count."""
    return (lambda done: progress("documents", before + done, total)) if progress else None


def _utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8"))
