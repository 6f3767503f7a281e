"""J(θ): run a program over the corpus, rank its chunks with the fixed retriever, score the queries."""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.collection import Collection
from autoindex_haystack.evaluation.diagnosis import Diagnosis, QueryPostings, count_terms
from autoindex_haystack.evaluation.lookup import Lookup
from autoindex_haystack.evaluation.metrics import means
from autoindex_haystack.evaluation.outcome import Begun, Evaluation
from autoindex_haystack.evaluation.rankings import NamedRankings
from autoindex_haystack.evaluation.reachable import check_reachable, documents_with_token
from autoindex_haystack.evaluation.readings import (
    ChunkReading,
    ExactReading,
    IndexReading,
    hash_block,
    is_worth_reading,
    text_size,
)
from autoindex_haystack.evaluation.running import CorpusRunner, LearnedApart, Progress
from autoindex_haystack.program import Program
from autoindex_haystack.retrieval import BM25Settings, ChunkTable, get_backend
from autoindex_haystack.retrieval.lucene_model import Departures
from autoindex_haystack.retrieval.ranking import code_point_order
from autoindex_haystack.sandbox import Block, IsCancelled, Isolation, Limits, document_digests, join_blocks

if TYPE_CHECKING:
    from autoindex_haystack.evaluation.exact import ExactEvaluator


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
    :param evaluations: How many evaluations are expected.
    :param exact: Whether chunks are read without an index, which gives the same results; in place of Lucene they are
        the same to the last digits of a score. When not given, that is done on bm25s if as much text is expected as to
        be worth it.
    :param learned_apart: Takes what a program learns apart, where that is known; programs then share each thing that
        several of them learn.

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
        evaluations: int = 1,
        exact: bool | None = None,
        learned_apart: LearnedApart | None = None,
    ) -> None:
        self.collection = collection
        self.settings = settings
        self.backend = backend
        self._limits = limits
        self._runner = CorpusRunner(
            collection,
            limits=limits,
            workers=workers,
            allowed_imports=allowed_imports,
            key=key,
            isolation=isolation,
            learned_apart=learned_apart,
        )
        self._reachable = documents_with_token(collection.documents, settings.analyzer)
        if exact is None:
            exact = is_worth_reading(backend, settings.analyzer, self.corpus_bytes * evaluations)
        self._reads = exact
        self._departures = Departures() if backend == "lucene" else None
        self._exact: dict[tuple[str, ...], ExactEvaluator] = {}
        self._lock = threading.Lock()

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
        :param queries: Ids of the queries to score; those of ``begun``, if it is given.
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
            begun = self._begin(program, tuple(queries), self._all, state=state, **how)
        elif not begun.done.all():
            left = np.flatnonzero(~begun.done).tolist()
            ran = self._runner.go_on(program, begun.reading.take, left, begun.ran, **how)
            begun = replace(begun, ran=ran, done=np.ones_like(begun.done))
        reading, seconds = begun.reading, dict(begun.ran.seconds)

        def tell(step: str) -> None:
            if progress:
                progress(step, 0, 0)

        began = time.monotonic()
        found = reading.finish(tell)
        seconds["scan"] = time.monotonic() - began
        unreachable = check_reachable(self._reachable, found, self.collection.document_ids, self._limits.unreachable)
        began = time.monotonic()
        tell("ranking")
        rankings, scores = reading.rank()
        seconds["score"] = time.monotonic() - began
        chunks, size = reading.size
        return Evaluation(
            program_sha256=program.sha256,
            scores=scores,
            metrics=means(scores),
            chunks=chunks,
            chunk_bytes=size,
            growth=size / max(1, self.corpus_bytes),
            unreachable=unreachable,
            state=begun.ran.learned.state,
            rankings=NamedRankings(begun.queries, rankings, self.collection.document_ids),
            seconds=seconds,
            calibrate_seconds=begun.ran.learned.seconds,
            digests=reading.digests,
            isolation=self.layers,
        )

    def begin(
        self,
        program: Program,
        queries: Iterable[str],
        ordinals: NDArray[np.int64],
        *,
        state: Mapping[str, Any] | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> Begun:
        """Let a program calibrate on the whole corpus and run over a part of it; :meth:`evaluate` goes on from there.

        :param program: The program.
        :param queries: Ids of the queries that it is to be scored on.
        :param ordinals: The documents of the part.
        :param state: What the program learned before; it calibrates when not given.
        :param workers: Worker processes, when it shall be another number than the evaluator's.
        :param progress: Called as the work goes on.
        :param cancelled: Asked several times a second whether the work shall be called off.
        :returns: What it made of the part.
        :raises ProgramError: If the program fails or breaks a limit.
        :raises Cancelled: If it was called off.
        """
        how: dict[str, Any] = {"state": state, "workers": workers, "progress": progress, "cancelled": cancelled}
        return self._begin(program, tuple(queries), ordinals.tolist(), **how)

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
        blocks: list[Block] = []
        ran = self._runner.run(program, blocks.append, self._all, state=state, progress=progress)
        return join_blocks(blocks, self.collection.document_ids)[0], ran.learned.state

    def _begin(self, program: Program, queries: tuple[str, ...], ordinals: Sequence[int], **how: Any) -> Begun:
        """Run a program over a part of the corpus."""
        reading = self._reading(queries)
        ran = self._runner.run(program, reading.take, ordinals, **how)
        done = np.zeros(len(self._all), np.bool_)
        done[np.asarray(ordinals, np.int64)] = True
        return Begun(queries, reading, done, ran)

    def check_again(self, program: Program, before: Evaluation) -> None:
        """Run a program over the whole corpus once more under other circumstances, and compare.

        :param program: The program.
        :param before: Its evaluation.
        :raises ProgramError: If it learns or returns something else; the message shows the first such document.
        """
        digest = hash_block if self._reads else document_digests
        self._runner.check_again(program, before.state, before.digests, digest)

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
        self._runner.try_out(program)

    def diagnose(self, program: Program, queries: Iterable[str], *, before: Evaluation | None = None) -> Diagnosis:
        """Say why documents are missed under a program.

        :param program: The program.
        :param queries: Ids of the queries that will be asked about.
        :param before: Its evaluation on these queries: the program is not run again while what was read then is kept.
        :returns: The diagnosis.
        :raises ProgramError: If the program, run again, fails or breaks a limit.
        """
        postings = self._postings(program, chosen := tuple(queries), before)
        return Diagnosis(postings, self.collection.documents, self._texts(chosen), self.collection.qrels)

    def _postings(self, program: Program, queries: tuple[str, ...], before: Evaluation | None) -> QueryPostings:
        """The queries' terms in a program's chunks."""
        if self._reads and before and (known := self._exact_evaluator(queries).known(before.digests)):
            return known
        state = before.state if before else None
        if self._reads:
            return self._begin(program, queries, self._all, state=state).reading.postings()
        chunks, _ = self.run(program, state=state)
        return count_terms(chunks, self._texts(queries).values(), self.settings, self._departures)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of isolation under which programs have run; empty before the first."""
        return self._runner.layers

    @property
    def _all(self) -> range:
        """The ordinals of all documents."""
        return range(len(self.collection.documents))

    @property
    def reads(self) -> bool:
        """Whether chunks are read without an index; the digests of an evaluation depend on it."""
        return self._reads

    @cached_property
    def corpus_bytes(self) -> int:
        """Bytes of all titles and texts."""
        return text_size(self.collection.documents)

    def close(self) -> None:
        """Release the document file and end all threads."""
        self._runner.close()
        for exact in self._exact.values():
            exact.close()
        self._exact.clear()

    def __enter__(self) -> "Evaluator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _reading(self, queries: tuple[str, ...]) -> ChunkReading:
        """What takes the chunks of an evaluation."""
        if self._reads:
            return ExactReading(self._exact_evaluator(queries))
        ids, qrels = self.collection.document_ids, self.collection.qrels
        return IndexReading(self.backend, self.settings, ids, self._texts(queries), qrels)

    def _exact_evaluator(self, queries: tuple[str, ...]) -> "ExactEvaluator":
        """What reads and ranks for these queries."""
        ids, qrels = self.collection.document_ids, self.collection.qrels
        with self._lock:
            if queries not in self._exact:
                from autoindex_haystack.evaluation.exact import ExactEvaluator

                texts, order = self._texts(queries), code_point_order(ids)
                self._exact[queries] = ExactEvaluator(texts, qrels, self.settings, ids, order, self._departures)
            return self._exact[queries]

    def _texts(self, queries: Iterable[str]) -> dict[str, str]:
        return {query: self.collection.queries[query] for query in queries}
