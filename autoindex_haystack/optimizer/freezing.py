"""Freezing a program that a search has evaluated: one manifest, card and fingerprint, whoever chose the program."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoindex_haystack.collection import Collection, Split
from autoindex_haystack.errors import ProgramError, SandboxError
from autoindex_haystack.evaluation import METRICS, PairedDifference, PerQuery, paired_difference, sign_flip_p_value
from autoindex_haystack.evaluation.objective import Objective, objective_value
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
from autoindex_haystack.frozen.fingerprint import Fingerprint, take_fingerprint
from autoindex_haystack.program import Program
from autoindex_haystack.proposers.builtin.variants import without_each_step
from autoindex_haystack.retrieval import BM25Settings
from autoindex_haystack.runs import installed_versions
from autoindex_haystack.sandbox import Isolation, Limits

Differences = dict[str, PairedDifference]
"""Learned minus baseline on the held-out queries, by metric."""


@dataclass(frozen=True)
class Conditions:
    """Under what a program was evaluated and is looked at once more.

    :param bm25: BM25 parameters and analyzer.
    :param allowed_imports: Modules that it may import beside the usual ones.
    :param limits: What it may use and return.
    :param workers: Worker processes.
    :param isolation: ``full``, or ``process-only`` for workers that the kernel does not lock.
    """

    bm25: BM25Settings
    allowed_imports: tuple[str, ...]
    limits: Limits
    workers: int
    isolation: Isolation


def freeze_program(
    place: Path,
    program: Program,
    state: dict[str, Any],
    collection: Collection,
    split: Split,
    conditions: Conditions,
    *,
    figures: tuple[Figures, Figures],
    differences: Differences,
    gain: Gain,
    lineage: Sequence[Step],
    layers: Sequence[str],
    force: bool,
) -> FrozenComponent:
    """Write a program as a frozen component.

    :param place: The new folder.
    :param program: The program.
    :param state: What it learned.
    :param collection: The collection that it learned on.
    :param split: The split of its queries.
    :param conditions: Under what it was evaluated.
    :param figures: Those of the baseline and its own.
    :param differences: The difference between them on the held-out queries.
    :param gain: What was gained.
    :param lineage: The steps that led to it.
    :param layers: The layers of isolation that were in force.
    :param force: Replace what is there.
    :returns: The component. It has no fingerprint when the program fails now, though it did not before: no search is
        lost for want of one.
    """
    settings = ComponentSettings(
        bm25=conditions.bm25,
        metadata_fields=collection.metadata_fields,
        allowed_imports=conditions.allowed_imports,
    )
    before, after = figures
    manifest = new_manifest(
        program,
        state,
        settings,
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
        lineage=list(lineage),
        versions=installed_versions(),
        isolation=list(layers),
    )
    fingerprint = _fingerprint(program, state, collection, settings, conditions)
    return write_frozen(place, manifest, program, state, fingerprint=fingerprint, force=force)


def held_out_differences(learned: PerQuery, baseline: PerQuery, split: Split) -> Differences:
    """Compare a program with the baseline on the held-out queries.

    :param learned: Its values.
    :param baseline: The baseline's.
    :param split: The split.
    :returns: The difference in each metric.
    """
    return {
        metric: paired_difference(
            [learned[query][metric] for query in split.held_out],
            [baseline[query][metric] for query in split.held_out],
        )
        for metric in METRICS
    }


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
    :param luck: An estimate of by how much that is too high for having been chosen. Being chosen never makes a gain too
        low, so that an estimate below 0 is taken for 0.
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
        corrected=validation - max(0.0, luck),
        held_out=held_out.mean,
        low=held_out.low,
        high=held_out.high,
        p_value=held_out.p_value,
        p_sign_flip=sign_flip_p_value(new, old),
    )


def _fingerprint(
    program: Program,
    state: dict[str, Any],
    collection: Collection,
    settings: ComponentSettings,
    conditions: Conditions,
) -> Fingerprint | None:
    """Look at what a program makes of the documents that it was learned on, step by step."""
    try:
        return take_fingerprint(
            program,
            state,
            collection.documents,
            settings=settings,
            variants=without_each_step(program),
            limits=conditions.limits,
            workers=conditions.workers,
            isolation=conditions.isolation,
        )
    except (ProgramError, SandboxError):
        return None
