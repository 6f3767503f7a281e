"""The end of a search: the held-out queries are scored, once, the incumbent is frozen, the result is made."""

from autoindex_haystack.collection import Collection, Split
from autoindex_haystack.evaluation import METRICS, Evaluation, PairedDifference, paired_difference
from autoindex_haystack.frozen import (
    ComponentSettings,
    Figures,
    FrozenComponent,
    LearnedOn,
    Step,
    new_manifest,
    write_frozen,
)
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.optimizer.standing import Standing
from autoindex_haystack.optimizer.trials import Trials
from autoindex_haystack.runs import RunFolder, RunResult, installed_versions

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
    differences = _differences(learned, baseline, split)
    before = Figures(validation=standing.baseline_evaluation.metrics, held_out=baseline.metrics)
    after = Figures(validation=standing.evaluation.metrics, held_out=learned.metrics)
    frozen = _freeze(collection, split, settings, standing, trials, folder, (before, after), differences)
    return RunResult(
        collection=collection.name,
        documents=len(collection.documents),
        queries={"validation": len(split.validation), "held_out": len(split.held_out)},
        baseline=before,
        learned=after,
        differences=differences,
        adopted=len(standing.adopted),
        tried=len(standing.history),
        evaluated=trials.evaluated,
        failed=sum(bool(outcome.error) for outcome in standing.history),
        program_sha256=standing.incumbent.sha256,
        component_sha256=frozen.manifest.sha256,
        frozen=str(frozen.path),
        growth=standing.evaluation.growth,
        unreachable=len(standing.evaluation.unreachable),
        seconds=dict(trials.seconds),
        isolation=trials.layers,
        notes=[*collection.notes(), *standing.notes],
    )


def _differences(learned: Evaluation, baseline: Evaluation, split: Split) -> Differences:
    return {
        metric: paired_difference(
            [learned.scores[query][metric] for query in split.held_out],
            [baseline.scores[query][metric] for query in split.held_out],
        )
        for metric in METRICS
    }


def _freeze(
    collection: Collection,
    split: Split,
    settings: SearchSettings,
    standing: Standing,
    trials: Trials,
    folder: RunFolder,
    figures: tuple[Figures, Figures],
    differences: Differences,
) -> FrozenComponent:
    """Write the incumbent as a frozen component into the run folder."""
    before, after = figures
    manifest = new_manifest(
        standing.incumbent,
        standing.evaluation.state,
        ComponentSettings(
            bm25=settings.bm25,
            metadata_fields=collection.metadata_fields,
            allowed_imports=settings.allowed_imports,
        ),
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
        intervals={metric: (difference.low, difference.high) for metric, difference in differences.items()},
        lineage=[
            Step(
                iteration=outcome.iteration,
                program_sha256=outcome.candidate.sha256,
                idea=outcome.candidate.idea,
                gain=outcome.gain or 0.0,
            )
            for outcome in standing.adopted
        ],
        versions=installed_versions(),
        isolation=trials.layers,
    )
    return write_frozen(folder.path / "frozen", manifest, standing.incumbent, standing.evaluation.state)
