"""The end of a search: the held-out queries are scored, once, the incumbent is frozen, the result is made."""

import math

from autoindex_haystack.collection import Collection, Split
from autoindex_haystack.evaluation.objective import Objective, objective_differences
from autoindex_haystack.frozen import Figures, Step
from autoindex_haystack.optimizer.freezing import Conditions, freeze_program, held_out_differences, measured_gain
from autoindex_haystack.optimizer.pareto import pareto_list
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.optimizer.standing import Standing
from autoindex_haystack.optimizer.trials import Trials
from autoindex_haystack.runs import START, Comparison, RunFolder, RunResult


def finish(
    collection: Collection,
    split: Split,
    settings: SearchSettings,
    standing: Standing,
    trials: Trials,
    folder: RunFolder,
) -> RunResult:
    """Score the held-out queries, freeze the incumbent and make the result.

    Its total time and rate are left to the caller.

    :param collection: The collection.
    :param split: The split of its queries.
    :param settings: How the search was done.
    :param standing: How far it came.
    :param trials: What evaluated its programs.
    :param folder: Where everything is written down.
    :returns: The result.
    """
    baseline = trials.evaluate_held_out(standing.baseline, standing.baseline_evaluation, split.held_out)
    learned = baseline
    if standing.incumbent.sha256 != standing.baseline.sha256:
        learned = trials.evaluate_held_out(standing.incumbent, standing.evaluation, split.held_out)
    validation = standing.baseline_evaluation, standing.evaluation
    Comparison.of(collection, split, validation, (baseline, learned)).save(folder.path)
    differences = held_out_differences(learned.scores, baseline.scores, split)
    before = Figures(validation=standing.baseline_evaluation.metrics, held_out=baseline.metrics)
    after = Figures(validation=standing.evaluation.metrics, held_out=learned.metrics)
    objective, first, last = settings.objective, standing.baseline_evaluation, standing.evaluation
    gain = measured_gain(
        objective,
        settings.acceptance,
        detectable=standing.detectable if math.isfinite(standing.detectable) else None,
        validation=float(objective_differences(last, first, objective).mean()),
        luck=standing.luck,
        learned=learned.scores,
        baseline=baseline.scores,
    )
    frozen = freeze_program(
        folder.path / "frozen",
        standing.incumbent,
        standing.evaluation.state,
        collection,
        split,
        Conditions(settings.bm25, settings.allowed_imports, settings.limits, settings.workers, settings.isolation),
        figures=(before, after),
        differences=differences,
        gain=gain,
        lineage=_lineage(standing, objective),
        layers=trials.layers,
        force=True,
    )
    return RunResult(
        collection=collection.name,
        documents=len(collection.documents),
        queries={"validation": len(split.validation), "held_out": len(split.held_out)},
        baseline=before,
        learned=after,
        gain=gain,
        differences=differences,
        adopted=len(standing.adopted),
        tried=len(standing.history),
        dropped=sum(outcome.dropped is not None for outcome in standing.history),
        evaluated=trials.evaluated,
        failed=sum(bool(outcome.error) for outcome in standing.history),
        program_sha256=standing.incumbent.sha256,
        component_sha256=frozen.manifest.sha256,
        frozen=str(frozen.path),
        growth=standing.evaluation.growth,
        unreachable=len(standing.evaluation.unreachable),
        seconds=dict(trials.seconds),
        isolation=trials.layers,
        pareto=pareto_list(trials.evaluations, _ideas(standing)),
        notes=[*collection.notes(), *standing.notes],
    )


def _ideas(standing: Standing) -> dict[str, str]:
    """What each program that was evaluated does differently, by its hash."""
    ideas = {outcome.candidate.sha256: outcome.candidate.idea for outcome in standing.history}
    return ideas | ({standing.start[0].sha256: START} if standing.start else {})


def _lineage(standing: Standing, objective: Objective) -> list[Step]:
    """The programs on the way from the baseline, the one that the search started from before those it adopted."""
    steps = []
    if standing.start:
        program, evaluation = standing.start
        gain = float(objective_differences(evaluation, standing.baseline_evaluation, objective).mean())
        steps.append(Step(iteration=0, program_sha256=program.sha256, idea=START, gain=gain))
    for outcome in standing.adopted:
        candidate, gain = outcome.candidate, outcome.gain or 0.0
        sha256, idea = candidate.sha256, candidate.idea
        steps.append(Step(iteration=outcome.iteration, program_sha256=sha256, idea=idea, gain=gain))
    return steps
