"""The loop of the paper: propose, evaluate, keep what helps, combine, repeat; held-out queries are scored once."""

import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from autoindex_haystack.collection import Collection, Split, load_collection, load_split, make_split
from autoindex_haystack.errors import ProgramError, SandboxError, SandboxUnavailable
from autoindex_haystack.evaluation import METRICS, Evaluation, Evaluator, paired_difference
from autoindex_haystack.files import refuse_existing, remove, replaced_at_the_end
from autoindex_haystack.frozen import ComponentSettings, Figures, LearnedOn, Step, new_manifest, write_frozen
from autoindex_haystack.optimizer.events import BaselineEvaluated, CandidateTried, IterationEnded, Listener, Phase
from autoindex_haystack.optimizer.leaks import find_leak
from autoindex_haystack.optimizer.selection import compare, improvements
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.program import Program, builtin_program, check_source
from autoindex_haystack.proposers import Candidate, CollectionView, Outcome, Proposer, ProposerState
from autoindex_haystack.runs import RunFolder, RunInfo, RunResult, RunSettings, installed_versions
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
    force: bool = False,
    listener: Listener | None = None,
) -> RunResult:
    """Search for the representation program that makes retrieval best on a collection, and freeze it.

    :param collection: A collection or its folder.
    :param out: The run folder to write.
    :param settings: How the search is done.
    :param proposer: Who suggests programs; the built-in proposer when not given.
    :param split: The split of the queries, or its file; made with ``split_seed`` when not given.
    :param split_seed: Seed of the split.
    :param metadata_fields: Metadata fields that programs may see beside the title.
    :param force: Replace an existing run folder.
    :param listener: Called with events as the search goes on.
    :returns: The result, as in ``result.json``.
    :raises CollectionError: If the collection or the split cannot be used.
    :raises RunError: If the run folder exists or cannot be written.
    :raises SandboxUnavailable: If this machine cannot isolate programs as asked.

    ```python
    from autoindex_haystack import optimize

    result = optimize("my_collection", "my_run")
    print(result.baseline.held_out["recall@100"], "->", result.learned.held_out["recall@100"])
    ```
    """
    out = Path(out)
    refuse_existing(out, force=force)
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
    key = secrets.token_bytes(16)
    evaluator = Evaluator(
        collection,
        settings.bm25,
        backend=settings.backend,
        limits=settings.limits,
        workers=settings.workers,
        allowed_imports=settings.allowed_imports,
        key=key,
        isolation=settings.isolation,
    )
    with evaluator, replaced_at_the_end(out):
        info = _run_info(collection, settings, proposer.name, key)
        folder = RunFolder.create(out, info, split)
        search = Search(collection, split, evaluator, proposer, settings, folder, listener)
        try:
            search.start()
        except BaseException:
            # Nothing has been learned yet that would be worth keeping.
            remove(out)
            raise
        search.run()
        return search.finish()


class Search:
    """One search in progress; :func:`optimize` is the way to run one.

    :param collection: The collection.
    :param split: The split of its queries.
    :param evaluator: The evaluator of the collection.
    :param proposer: Who suggests programs.
    :param settings: How the search is done.
    :param folder: Where everything is written down.
    :param listener: Called with events.
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
    ) -> None:
        self._collection = collection
        self._split = split
        self._evaluator = evaluator
        self._proposer = proposer
        self._settings = settings
        self._folder = folder
        self._listen: Listener = listener or (lambda _: None)
        self._view = CollectionView(
            documents=collection.documents,
            queries={query: collection.queries[query] for query in split.validation},
            qrels={query: collection.qrels[query] for query in split.validation},
            analyzer=settings.bm25.analyzer,
        )
        self._history: list[Outcome] = []
        self._seconds = dict.fromkeys(("propose", "calibrate", "program", "index", "search"), 0.0)
        self._began = time.monotonic()
        self._notes: list[str] = []
        self._evaluations: dict[str, Evaluation] = {}

    def start(self) -> None:
        """Evaluate the baseline."""
        self._incumbent = self._baseline = builtin_program("full_document")
        self._best = self._baseline_evaluation = self._evaluate(self._baseline, "baseline")
        self._listen(BaselineEvaluated(self._best))

    def run(self) -> None:
        """Do all iterations."""
        for iteration in range(1, self._settings.iterations + 1):
            if 1.0 - self._best.objective < self._settings.tolerance:
                break  # Every relevant document is found: no candidate could count as an improvement.
            adopted = self._iterate(iteration)
            self._listen(IterationEnded(iteration, self._settings.iterations, adopted, self._best.objective))

    def finish(self) -> RunResult:
        """Score the held-out queries, freeze the incumbent and write the result.

        :returns: The result.
        """
        held_out = self._split.held_out
        self._listen(Phase("held-out queries"))
        baseline = self._held_out(self._baseline, self._baseline_evaluation)
        learned = baseline
        if self._incumbent.sha256 != self._baseline.sha256:
            learned = self._held_out(self._incumbent, self._best)
        differences = {
            metric: paired_difference(
                [learned.scores[query][metric] for query in held_out],
                [baseline.scores[query][metric] for query in held_out],
            )
            for metric in METRICS
        }
        before = Figures(validation=self._baseline_evaluation.metrics, held_out=baseline.metrics)
        after = Figures(validation=self._best.metrics, held_out=learned.metrics)
        adopted = [outcome for outcome in self._history if outcome.adopted]
        manifest = new_manifest(
            self._incumbent,
            self._best.state,
            ComponentSettings(
                bm25=self._settings.bm25,
                metadata_fields=self._collection.metadata_fields,
                allowed_imports=self._settings.allowed_imports,
            ),
            learned_on=LearnedOn(
                name=self._collection.name,
                fingerprint=self._collection.fingerprint,
                documents=len(self._collection.documents),
                validation_queries=len(self._split.validation),
                held_out_queries=len(held_out),
                split_seed=self._split.seed,
            ),
            baseline=before,
            learned=after,
            intervals={metric: (difference.low, difference.high) for metric, difference in differences.items()},
            lineage=[
                Step(
                    iteration=outcome.iteration,
                    program_sha256=outcome.candidate.sha256,
                    idea=outcome.candidate.idea,
                    gain=outcome.gain or 0.0,
                )
                for outcome in adopted
            ],
            versions=installed_versions(),
            isolation=list(self._evaluator.layers),
        )
        frozen = write_frozen(self._folder.path / "frozen", manifest, self._incumbent, self._best.state)
        result = RunResult(
            collection=self._collection.name,
            documents=len(self._collection.documents),
            queries={"validation": len(self._split.validation), "held_out": len(held_out)},
            baseline=before,
            learned=after,
            differences=differences,
            adopted=len(adopted),
            evaluated=len(self._evaluations),
            failed=sum(bool(outcome.error) for outcome in self._history),
            program_sha256=self._incumbent.sha256,
            component_sha256=manifest.sha256,
            frozen=str(frozen.path),
            growth=self._best.growth,
            unreachable=len(self._best.unreachable),
            seconds={**self._seconds, "total": time.monotonic() - self._began},
            isolation=list(self._evaluator.layers),
            notes=[*self._collection.notes(), *self._notes],
        )
        self._folder.finish(result)
        return result

    def _iterate(self, iteration: int) -> Outcome | None:
        """One round: propose, evaluate, decide."""
        state = self._state(iteration)
        self._listen(Phase(f"iteration {iteration}: proposing"))
        began = time.monotonic()
        candidates = self._proposer.propose(state)[: self._settings.candidates]
        self._seconds["propose"] += time.monotonic() - began
        outcomes = [self._try(candidate, iteration, i) for i, candidate in enumerate(candidates, start=1)]
        better = improvements(outcomes, self._settings.tolerance)
        if len(better) > 1:
            combination = self._proposer.combine(replace(state, history=(*self._history, *outcomes)), better)
            if combination is not None:
                combined = self._try(combination, iteration, len(outcomes) + 1, combined=True)
                outcomes.append(combined)
                better = improvements([*better, combined], self._settings.tolerance)
        decided: dict[int, Outcome] = {}
        for winner in better:
            decided[id(winner)] = self._confirm(winner)
            if decided[id(winner)].adopted:
                break
        self._history += [decided.get(id(outcome), outcome) for outcome in outcomes]
        adopted = next((outcome for outcome in decided.values() if outcome.adopted), None)
        sha256 = adopted.candidate.sha256 if adopted else None
        self._folder.append({"record": "decision", "iteration": iteration, "adopted": sha256})
        return adopted

    def _try(self, candidate: Candidate, iteration: int, number: int, *, combined: bool = False) -> Outcome:
        """Evaluate a candidate against the incumbent; a failure is an outcome too."""
        program = Program(candidate.source, f"candidate {iteration}.{number}")
        outcome = Outcome(iteration, candidate, combined=combined)
        self._folder.add_program(program.source, program.sha256)
        self._folder.append(
            {
                "record": "candidate",
                "iteration": iteration,
                "number": number,
                "program": program.sha256,
                "idea": candidate.idea,
                "rationale": candidate.rationale,
                "parents": list(candidate.parents),
                "combined": combined,
            }
        )
        try:
            evaluation = self._evaluate(program, f"iteration {iteration}, candidate {number}")
            outcome = compare(outcome, evaluation, self._best)
        except (ProgramError, SandboxError) as error:
            self._failed(program, error)
            outcome = replace(outcome, error=str(error))
        self._listen(CandidateTried(outcome, number))
        return outcome

    def _failed(self, program: Program, error: ProgramError | SandboxError) -> None:
        """Write a failure down, if it is the program's and not this machine's."""
        if isinstance(error, SandboxUnavailable):
            raise error
        self._folder.append({"record": "failure", "program": program.sha256, "error": str(error)})

    def _evaluate(self, program: Program, label: str) -> Evaluation:
        """Evaluate a program on the validation queries, once, and write the figures down before they are used."""
        if program.sha256 in self._evaluations:
            return self._evaluations[program.sha256]
        self._listen(Phase(label))
        evaluation = self._evaluator.evaluate(
            program,
            self._split.validation,
            progress=lambda phase, done, total: self._listen(Phase(f"{label}: {phase}", done, total)),
        )
        self._add_seconds(evaluation)
        self._folder.add_program(program.source, program.sha256)
        self._folder.append(
            {
                "record": "evaluation",
                "program": program.sha256,
                "metrics": evaluation.metrics,
                "scores": evaluation.scores,
                **{name: getattr(evaluation, name) for name in ("chunks", "chunk_bytes", "growth", "seconds")},
                "unreachable": len(evaluation.unreachable),
            }
        )
        self._evaluations[program.sha256] = evaluation
        return evaluation

    def _held_out(self, program: Program, validated: Evaluation) -> Evaluation:
        evaluation = self._evaluator.evaluate(program, self._split.held_out, state=validated.state)
        self._add_seconds(evaluation)
        return evaluation

    def _add_seconds(self, evaluation: Evaluation) -> None:
        for phase, seconds in evaluation.seconds.items():
            self._seconds[phase] += seconds

    def _confirm(self, winner: Outcome) -> Outcome:
        """Adopt an improvement if it gives the same output under other circumstances; else it has failed."""
        assert winner.evaluation
        program = Program(winner.candidate.source)
        self._listen(Phase(f"iteration {winner.iteration}: running the best program again"))
        began = time.monotonic()
        try:
            self._evaluator.check_again(program, winner.evaluation)
        except (ProgramError, SandboxError) as error:
            self._failed(program, error)
            return replace(winner, evaluation=None, gain=None, fixed=(), broken=(), error=str(error))
        finally:
            self._seconds["program"] += time.monotonic() - began
        if leak := find_leak(program.source, self._view):
            self._folder.append({"record": "leak", "program": program.sha256, **asdict(leak)})
            self._notes.append(f"Program {program.sha256[:12]}, which was adopted, {leak}")
        self._incumbent, self._best = program, winner.evaluation
        return replace(winner, adopted=True)

    def _state(self, iteration: int) -> ProposerState:
        allowed = self._settings.allowed_imports
        return ProposerState(
            seed=self._settings.seed,
            iteration=iteration,
            number=self._settings.candidates,
            collection=self._view,
            incumbent=self._incumbent,
            evaluation=self._best,
            baseline=self._baseline_evaluation,
            history=tuple(self._history),
            check=lambda source: [str(problem) for problem in check_source(source, allowed)],
        )


def _run_info(collection: Collection, settings: SearchSettings, proposer: str, key: bytes) -> RunInfo:
    layers = layers_in_force(settings.isolation, limits=settings.limits, allowed_imports=settings.allowed_imports)
    return RunInfo(
        settings=RunSettings(
            iterations=settings.iterations,
            candidates=settings.candidates,
            seed=settings.seed,
            tolerance=settings.tolerance,
            proposer=proposer,
            backend=settings.backend,
            bm25=settings.bm25,
            metadata_fields=collection.metadata_fields,
            allowed_imports=settings.allowed_imports,
            timeout=settings.limits.seconds,
            max_unreachable=settings.limits.unreachable,
        ),
        collection=collection.name,
        fingerprint=collection.fingerprint,
        id_key=key.hex(),
        versions=installed_versions(),
        isolation=list(layers),
    )
