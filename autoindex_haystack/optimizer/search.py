"""The loop of the paper: propose, evaluate, keep what helps, combine, repeat; held-out queries are scored once."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from autoindex_haystack.collection import Collection, Split, load_collection, load_split, make_split
from autoindex_haystack.errors import AutoIndexError, Interrupted, RunError
from autoindex_haystack.evaluation import Evaluator, resolve_program
from autoindex_haystack.evaluation.objective import objective_value
from autoindex_haystack.files import refuse_existing, remove, replaced_at_the_end
from autoindex_haystack.frozen import FrozenComponent
from autoindex_haystack.optimizer.correction import detectable_gain, few_queries_note, nothing_left_note
from autoindex_haystack.optimizer.events import (
    BaselineEvaluated,
    IterationEnded,
    Listener,
    Phase,
    RunBegun,
    RunEnded,
    StartEvaluated,
    one_at_a_time,
)
from autoindex_haystack.optimizer.finish import finish
from autoindex_haystack.optimizer.leaks import find_leak
from autoindex_haystack.optimizer.rounds import Rounds
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.optimizer.standing import Standing
from autoindex_haystack.optimizer.status import StatusKeeper
from autoindex_haystack.optimizer.trials import Trials
from autoindex_haystack.program import Program, builtin_program
from autoindex_haystack.proposers import CollectionView, Proposer, Reporting, SearchEnded
from autoindex_haystack.retrieval import get_backend
from autoindex_haystack.runs import (
    RunFolder,
    RunInfo,
    RunResult,
    RunSettings,
    installed_versions,
    read_info,
    refuse_at_work,
)
from autoindex_haystack.sandbox import layers_in_force


def optimize(
    collection: str | Path | Collection,
    out: str | Path,
    *,
    settings: SearchSettings = SearchSettings(),  # noqa: B008 - frozen
    proposer: Proposer | None = None,
    split: Split | Path | None = None,
    split_seed: int = 0,
    metadata_fields: Sequence[str] = (),
    start: str | Path | Program | FrozenComponent | None = None,
    force: bool = False,
    listener: Listener | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> RunResult:
    """Search for the representation program that makes retrieval best on a collection, and freeze it.

    A search that is interrupted once it has learned something leaves its run folder for
    :func:`~autoindex_haystack.optimizer.resume`; before that, nothing is left of it.

    :param collection: A collection or its folder.
    :param out: The run folder to write.
    :param settings: How the search is done.
    :param proposer: Who suggests programs; the built-in proposer when not given.
    :param split: The split of the queries, or its file; made with ``split_seed`` when not given.
    :param split_seed: Seed of the split.
    :param metadata_fields: Metadata fields that programs may see beside the title.
    :param start: The program that the search starts from: ``builtin:NAME``, a Python file, a frozen component or its
        folder. It learns from this corpus anew, with the imports and metadata fields that its component names, and
        candidates have to be better than it; the gain is still told against ``full_document``.
    :param force: Replace an existing run folder.
    :param listener: Called with events as the search goes on.
    :param stop: Asked between steps whether the search shall stop; what is at work is finished before.
    :returns: The result, as in ``result.json``.
    :raises CollectionError: If the collection or the split cannot be used.
    :raises RunError: If the run folder exists or cannot be written.
    :raises BackendError: If there is no such engine, or it is none for BM25.
    :raises ProgramError: If there is no such starting program, or it fails on this corpus.
    :raises SandboxUnavailable: If this machine cannot isolate programs as asked.
    :raises Interrupted: If ``stop`` said so.

    ```python
    from autoindex_haystack import optimize

    result = optimize("my_collection", "my_run")
    print(result.baseline.held_out["recall@100"], "->", result.learned.held_out["recall@100"])
    ```
    """
    out = Path(out)
    place = None if isinstance(collection, Collection) else Path(collection).resolve()
    refuse_existing(out, force=force)
    get_backend(settings.backend)
    refuse_at_work(out)
    started = resolve_program(start) if start is not None else None
    if started:
        imports = dict.fromkeys((*settings.allowed_imports, *started.settings.allowed_imports))
        settings = replace(settings, allowed_imports=tuple(imports))
        metadata_fields = tuple(dict.fromkeys((*metadata_fields, *started.settings.metadata_fields)))
    if not isinstance(collection, Collection):
        tell = (lambda done: listener(Phase("reading documents", done))) if listener else None
        collection = load_collection(collection, metadata_fields=metadata_fields, progress=tell)
    if proposer is None:
        from autoindex_haystack.proposers.builtin import BuiltinProposer

        proposer = BuiltinProposer()
    if split is None:
        split = make_split(collection, split_seed)
    elif isinstance(split, Path):
        split = load_split(split, collection)
    first = started.program if started else None
    return begin(collection, out, place, settings, proposer, split, start=first, listener=listener, stop=stop)


def begin(
    collection: Collection,
    out: Path,
    place: Path | None,
    settings: SearchSettings,
    proposer: Proposer,
    split: Split,
    *,
    start: Program | None = None,
    listener: Listener | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> RunResult:
    """Begin a search whose parts are there, and complete it; see :func:`optimize`.

    :param collection: The collection.
    :param out: The run folder to write; what is there is replaced.
    :param place: The collection's folder; None when it was given in memory.
    :param settings: How the search is done.
    :param proposer: Who suggests programs.
    :param split: The split of the queries.
    :param start: The program that the search starts from, when that is not the baseline.
    :param listener: Called with events.
    :param stop: Asked between steps whether the search shall stop.
    :returns: The result.
    """
    key = secrets.token_bytes(16)
    with search_evaluator(collection, settings, key) as evaluator, replaced_at_the_end(out) as settle:
        info = _run_info(collection, place, settings, proposer, key, start=start, exact=evaluator.reads)
        with RunFolder.create(out, info, split, programs=[start] if start else []) as folder:
            search = Search(collection, split, evaluator, proposer, settings, folder, listener, stop, start=start)
            try:
                return search.complete()
            except BaseException as error:
                if search.has_learned or isinstance(error, Interrupted):
                    settle()
                elif isinstance(error, AutoIndexError) or not search.has_begun:
                    remove(out)
                raise


def search_evaluator(
    collection: Collection, settings: SearchSettings, key: bytes, *, exact: bool | None = None
) -> Evaluator:
    """Make the evaluator of a search.

    :param collection: The collection.
    :param settings: How the search is done.
    :param key: Key of the opaque ids that programs see.
    :param exact: Whether chunks are read without an index, where that is settled.
    :returns: The evaluator, to be closed after use.
    """
    from autoindex_haystack.proposers.builtin.learning import learned_apart

    return Evaluator(
        collection,
        settings.bm25,
        backend=settings.backend,
        limits=settings.limits,
        workers=settings.workers,
        allowed_imports=settings.allowed_imports,
        key=key,
        isolation=settings.isolation,
        evaluations=settings.iterations * settings.candidates,
        exact=exact,
        learned_apart=learned_apart,
    )


class Search:
    """One search in progress; :func:`optimize` is the way to run one, :func:`resume` to go on with one.

    :param collection: The collection.
    :param split: The split of its queries.
    :param evaluator: The evaluator of the collection.
    :param proposer: Who suggests programs.
    :param settings: How the search is done.
    :param folder: Where everything is written down, and what is recalled from.
    :param listener: Called with events.
    :param stop: Asked between steps whether the search shall stop.
    :param start: The first incumbent, when it is not the baseline.
    """

    def __init__(
        self,
        collection: Collection,
        split: Split,
        evaluator: Evaluator,
        proposer: Proposer,
        settings: SearchSettings,
        folder: RunFolder,
        listener: Listener | None = None,
        stop: Callable[[], bool] = lambda: False,
        *,
        start: Program | None = None,
    ) -> None:
        self._collection = collection
        self._split = split
        self._proposer = proposer
        self._settings = settings
        self._folder = folder
        self._first = start
        self._status = StatusKeeper(folder, settings, self._account)
        self._listen = one_at_a_time(self._status, *([listener] if listener else []))
        self._trials = Trials(evaluator, split.validation, folder, settings, self._listen, stop)
        self._standing: Standing | None = None

    @property
    def has_begun(self) -> bool:
        """Whether the baseline has its figures."""
        return self._standing is not None

    @property
    def has_learned(self) -> bool:
        """Whether any candidate was tried, or a language model was paid for anything."""
        paid = bool((self._account() or {}).get("calls"))
        return bool(self._standing and self._standing.history) or paid

    def complete(self) -> RunResult:
        """Do the search.

        :returns: The result.
        """
        result, interrupted = None, False
        self._listen(RunBegun(self._folder.path, read_info(self._folder.path)))
        try:
            with self._status:
                self._standing = standing = self._start()
                self._run(standing)
                result = self._finish(standing)
            return result
        except (Interrupted, KeyboardInterrupt):
            interrupted = True
            raise
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            msg = f"the search broke off ({where}{error.strerror or error})"
            if self.has_learned:
                msg += f"; mend that and go on with `autoindex optimize --resume {self._folder.path}`"
            raise RunError(msg) from error
        finally:
            self._listen(RunEnded(self._folder.path, result, interrupted))

    def _start(self) -> Standing:
        """Evaluate the baseline and the program to start from."""
        baseline = builtin_program("full_document")
        evaluation = self._trials.evaluate(baseline, "baseline")
        standing = Standing.at_first(baseline, evaluation)
        standing.detectable = detectable_gain(evaluation, self._settings)
        nothing_left = 1.0 - objective_value(evaluation.metrics, self._settings.objective) < self._settings.tolerance
        if not nothing_left and (note := few_queries_note(len(evaluation.scores), standing.detectable)):
            standing.notes.append(note)
        self._listen(BaselineEvaluated(evaluation, standing.detectable))
        if self._first is not None and self._first.sha256 != baseline.sha256:
            self._start_from(self._first, standing)
        return standing

    def _start_from(self, program: Program, standing: Standing) -> None:
        """Make a program the incumbent, under the same conditions as a candidate but for its figures."""
        evaluation = self._trials.evaluate(program, "starting program")
        self._trials.check_again(program, evaluation)
        standing.start_from(program, evaluation)
        if leak := find_leak(program.source, self._view()):
            standing.notes.append(f"Program {program.sha256[:12]}, from which the search started, {leak}")
        before = objective_value(standing.baseline_evaluation.metrics, self._settings.objective)
        if (lost := before - self._objective(standing)) > 0:
            standing.notes.append(
                f"The program from which the search started is worse here than the full documents, by {lost:.4f} on "
                "the validation queries; a search without --start may find more."
            )
        self._listen(StartEvaluated(evaluation))

    def _run(self, standing: Standing) -> None:
        """Do all iterations."""
        settings = self._settings
        rounds = Rounds(self._proposer, self._view(), self._trials, standing, settings, self._folder, self._listen)
        for iteration in range(1, settings.iterations + 1):
            if 1.0 - self._objective(standing) < settings.tolerance:
                # No candidate could count as an improvement.
                standing.notes.append(nothing_left_note(iteration, settings.objective))
                break
            try:
                decision = rounds.play(iteration)
            except SearchEnded as ended:
                standing.notes.append(f"The search ended in iteration {iteration}: {ended}.")
                break
            refused, reason = (decision.refused.outcome, decision.refused.reason) if decision.refused else (None, "")
            objective = self._objective(standing)
            self._listen(IterationEnded(iteration, settings.iterations, decision.adopted, objective, refused, reason))
        self._searching = self._folder.seconds - (self._folder.journal.begun_at or 0.0)

    def _finish(self, standing: Standing) -> RunResult:
        """Score the held-out queries, freeze the incumbent and write the result."""
        self._trials.explain(standing.baseline, standing.baseline_evaluation)
        self._trials.explain(standing.incumbent, standing.evaluation)
        self._listen(Phase("held-out queries"))
        result = finish(self._collection, self._split, self._settings, standing, self._trials, self._folder)
        result.seconds["total"] = self._folder.seconds
        if result.tried:
            result.candidates_per_minute = 60 * result.tried / self._searching
        if isinstance(self._proposer, Reporting):
            result.notes += self._proposer.notes()
            result.llm = self._account()
        self._folder.finish(result)
        return result

    def _account(self) -> dict[str, Any] | None:
        return self._proposer.account() if isinstance(self._proposer, Reporting) else None

    def _objective(self, standing: Standing) -> float:
        return objective_value(standing.evaluation.metrics, self._settings.objective)

    def _view(self) -> CollectionView:
        """What the proposer may see: nothing of the held-out queries."""
        return CollectionView(
            documents=self._collection.documents,
            queries={query: self._collection.queries[query] for query in self._split.validation},
            qrels={query: self._collection.qrels[query] for query in self._split.validation},
            analyzer=self._settings.bm25.analyzer,
        )


def _run_info(
    collection: Collection,
    place: Path | None,
    settings: SearchSettings,
    proposer: Proposer,
    key: bytes,
    *,
    start: Program | None,
    exact: bool,
) -> RunInfo:
    layers = layers_in_force(settings.isolation, limits=settings.limits, allowed_imports=settings.allowed_imports)
    return RunInfo(
        settings=run_settings(collection, settings, proposer, start=start),
        collection=collection.name,
        fingerprint=collection.fingerprint,
        id_key=key.hex(),
        collection_path=str(place) if place else None,
        exact=exact,
        versions=installed_versions(),
        isolation=list(layers),
    )


def run_settings(
    collection: Collection, settings: SearchSettings, proposer: Proposer, *, start: Program | None = None
) -> RunSettings:
    """Returns what decides a search, as ``run.json`` has it.

    :param collection: The collection.
    :param settings: How the search is done.
    :param proposer: Who suggests programs.
    :param start: The program that the search starts from, when that is not the baseline.
    """
    return RunSettings(
        iterations=settings.iterations,
        candidates=settings.candidates,
        seed=settings.seed,
        tolerance=settings.tolerance,
        objective=settings.objective,
        acceptance=settings.acceptance,
        max_growth=settings.max_growth,
        stage_size=settings.stage_size,
        start=start.sha256 if start else None,
        proposer=proposer.name,
        proposer_settings=proposer.settings() if isinstance(proposer, Reporting) else {},
        backend=settings.backend,
        bm25=settings.bm25,
        metadata_fields=collection.metadata_fields,
        allowed_imports=settings.allowed_imports,
        timeout=settings.limits.seconds,
        memory=settings.limits.memory,
        max_unreachable=settings.limits.unreachable,
    )
