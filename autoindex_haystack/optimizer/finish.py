"""The end of a search: the held-out queries are scored, once, the incumbent is frozen, the result is made."""

import math
from typing import Any

from autoindex_haystack.collection import Collection, Split
from autoindex_haystack.evaluation import METRICS, Evaluation, PairedDifference, paired_difference, sign_flip_p_value
from autoindex_haystack.evaluation.metrics import PerQuery
from autoindex_haystack.evaluation.objective import Objective, objective_differences, objective_value
from autoindex_haystack.frozen import (
    ComponentSettings,
    Figures,
    FrozenComponent,
    Gain,
    LearnedOn,
    Step,
    new_manifest,
    write_frozen,
)
from autoindex_haystack.optimizer.fingerprints import fingerprint_of
from autoindex_haystack.optimizer.pareto import pareto_list
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.optimizer.standing import Standing
from autoindex_haystack.optimizer.trials import Trials
from autoindex_haystack.runs import START, Comparison, RunFolder, RunResult, installed_versions

Differences = dict[str, PairedDifference]
"""Learned minus baseline on the held-out queries, by metric."""


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
    differences = _differences(learned, baseline, split)
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
    frozen = _freeze(collection, split, settings, standing, trials, folder, (before, after), differences, gain)
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


def measured_gain(
    objective: Objective,
    acceptance: str,
    *,
    detectable: float | None,
    validation: float,
    luck: float,
    learned: PerQuery,
    baseline: PerQuery,
) -> Gain:
    """Tell what was gained in the objective, and what that is worth.

    :param objective: What was maximized.
    :param acceptance: How the program was chosen.
    :param detectable: What the validation queries could show.
    :param validation: The gain on them.
    :param luck: By how much that is too high for having been chosen.
    :param learned: The program's values on the held-out queries.
    :param baseline: The baseline's.
    :returns: The gain.
    """
    old = [objective_value(values, objective) for values in baseline.values()]
    new = [objective_value(learned[query], objective) for query in baseline]
    held_out = paired_difference(new, old)
    return Gain(
        objective=objective,
        acceptance=acceptance,
        detectable=detectable,
        validation=validation,
        corrected=validation - luck,
        held_out=held_out.mean,
        low=held_out.low,
        high=held_out.high,
        p_value=held_out.p_value,
        p_sign_flip=sign_flip_p_value(new, old),
    )


def _differences(learned: Evaluation, baseline: Evaluation, split: Split) -> Differences:
    return {
        metric: paired_difference(
            [learned.scores[query][metric] for query in split.held_out],
            [baseline.scores[query][metric] for query in split.held_out],
        )
        for metric in METRICS
    }


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


def _freeze(
    collection: Collection,
    split: Split,
    settings: SearchSettings,
    standing: Standing,
    trials: Trials,
    folder: RunFolder,
    figures: tuple[Figures, Figures],
    differences: Differences,
    gain: Gain,
) -> FrozenComponent:
    """Write the incumbent as a frozen component into the run folder."""
    before, after = figures
    program, state = standing.incumbent, standing.evaluation.state
    own = ComponentSettings(
        bm25=settings.bm25,
        metadata_fields=collection.metadata_fields,
        allowed_imports=settings.allowed_imports,
    )
    how: Any = {"limits": settings.limits, "workers": settings.workers, "isolation": settings.isolation}
    fingerprint = fingerprint_of(program, state, collection.documents, own, **how)
    manifest = new_manifest(
        program,
        state,
        own,
        learned_on=LearnedOn(
            name=collection.name,
            fingerprint=collection.fingerprint,
            documents=len(collection.documents),
            validation_queries=len(split.validation),
            held_out_queries=len(split.held_out),
            split_seed=split.seed,
            synthetic=collection.synthetic,
        ),
        baseline=before,
        learned=after,
        gain=gain,
        intervals={metric: (difference.low, difference.high) for metric, difference in differences.items()},
        lineage=_lineage(standing, settings.objective),
        versions=installed_versions(),
        isolation=trials.layers,
    )
    return write_frozen(folder.path / "frozen", manifest, program, state, fingerprint=fingerprint, force=True)
