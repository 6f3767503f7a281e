"""Freezing another program of a finished run than the one that was adopted."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from autoindex_haystack.collection import load_collection, load_split
from autoindex_haystack.errors import RunError
from autoindex_haystack.evaluation import Evaluator, PerQuery, means
from autoindex_haystack.evaluation.objective import Objective, objective_value
from autoindex_haystack.frozen import Figures, FrozenComponent, Step
from autoindex_haystack.optimizer.correction import luck_of_the_choice
from autoindex_haystack.optimizer.freezing import Conditions, freeze_program, held_out_differences, measured_gain
from autoindex_haystack.optimizer.replay import recorded_settings
from autoindex_haystack.program import Program, builtin_program
from autoindex_haystack.runs import candidate_label, kept_program, read_info, read_journal, read_result
from autoindex_haystack.sandbox import Isolation

_SHORTEST = 4

_SAME = 1e-6
"""What sums of floats may differ by between processors."""


def freeze_from_run(
    run: Path,
    name: str,
    out: Path | None = None,
    *,
    collection: Path | None = None,
    workers: int = 1,
    isolation: Isolation = "full",
    force: bool = False,
) -> FrozenComponent:
    """Freeze a program that a run has evaluated; the held-out queries are scored for it now, once.

    :param run: The run folder.
    :param name: The program's label, such as ``2.1`` (iteration 2, candidate 1), its hash, or a beginning of that, of
        four digits or more, that no other one has.
    :param out: The new folder; ``frozen-`` and the hash's first digits in the run folder when not given.
    :param collection: The collection's folder, when it is no longer where it was.
    :param workers: Worker processes.
    :param isolation: ``full``, or ``process-only`` for workers that the kernel does not lock.
    :param force: Replace what is there.
    :returns: The frozen component.
    :raises RunError: If the run holds no such program, if that does not do here what it did in the run, or if the
        folder exists.
    :raises CollectionError: If the collection cannot be read.
    """
    info, result = read_info(run), read_result(run)
    settings = recorded_settings(info.settings)
    journal = read_journal(run)
    records, failures = _evaluations(journal)
    labels = {candidate_label(record): record["program"] for record in journal if record["record"] == "candidate"}
    record = _find(records, labels, name, run)
    if why := failures.get(record["program"]):
        msg = f"program {record['program'][:12]} of {run} cannot be frozen, since it failed: {why}"
        raise RunError(msg)
    where = collection or (Path(info.collection_path) if info.collection_path else None)
    if where is None or (collection is None and not where.is_dir()):
        missing = (
            f"the collection of {run} is not in {where}" if where else f"{run} does not name its collection's folder"
        )
        msg = f"{missing}; say with --collection where it is now"
        raise RunError(msg)
    corpus = load_collection(where, metadata_fields=info.settings.metadata_fields)
    if corpus.fingerprint != info.fingerprint:
        msg = f"{where} is not the collection of {run}, or was changed since; give the same one with --collection"
        raise RunError(msg)
    split = load_split(run, corpus)
    program = kept_program(run, record["program"])
    with Evaluator(
        corpus,
        info.settings.bm25,
        backend=info.settings.backend,
        limits=settings.limits,
        workers=workers,
        allowed_imports=info.settings.allowed_imports,
        key=bytes.fromhex(info.id_key),
        isolation=isolation,
    ) as evaluator:
        learned = evaluator.evaluate(program, [*split.validation, *split.held_out])
        _check_same(program, record["scores"], learned.scores, run)
        held_out = {query: learned.scores[query] for query in split.held_out}
        baseline = evaluator.evaluate(builtin_program("full_document"), split.held_out)
        layers = list(evaluator.layers)
    objective: Objective = result.gain.objective  # type: ignore[assignment]
    gains = np.array([_gains(other["scores"], records[0]["scores"], objective) for other in records])
    own = _gains(record["scores"], records[0]["scores"], objective)
    return freeze_program(
        out or run / f"frozen-{program.sha256[:12]}",
        program,
        learned.state,
        corpus,
        split,
        Conditions(info.settings.bm25, info.settings.allowed_imports, settings.limits, workers, isolation),
        figures=(
            Figures(validation=records[0]["metrics"], held_out=means(baseline.scores)),
            Figures(validation=record["metrics"], held_out=means(held_out)),
        ),
        differences=held_out_differences(held_out, baseline.scores, split),
        gain=measured_gain(
            objective,
            "chosen by hand",
            detectable=result.gain.detectable,
            validation=float(np.mean(own)),
            luck=luck_of_the_choice(gains),
            learned=held_out,
            baseline=baseline.scores,
        ),
        lineage=[Step(iteration=0, program_sha256=program.sha256, idea="chosen by hand", gain=float(np.mean(own)))],
        layers=layers,
        force=force,
    )


def _evaluations(journal: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The records of all evaluated programs, the baseline's first, and what failed in the end, by program."""
    evaluations = {record["program"]: record for record in journal if record["record"] == "evaluation"}
    failures = {record["program"]: record["error"] for record in journal if record["record"] == "failure"}
    return list(evaluations.values()), failures


def _find(records: list[dict[str, Any]], labels: Mapping[str, str], name: str, run: Path) -> dict[str, Any]:
    if "." in name and name not in labels:
        msg = f"program {name!r} is not clear: {run} has no such candidate; its labels are in its report"
        raise RunError(msg)
    beginning = labels.get(name, name).strip().lower()
    if len(beginning) < _SHORTEST:
        msg = f"{name!r} is too short for a program's sha256; give its first {_SHORTEST} digits or more"
        raise RunError(msg)
    found = [record for record in records if record["program"].startswith(beginning)]
    if not found:
        msg = f"{run} holds no evaluated program {name!r}; its result.json lists programs under pareto"
        raise RunError(msg)
    if len(found) > 1:
        which = ", ".join(record["program"][: len(beginning) + 4] for record in found)
        msg = f"{len(found)} programs of {run} begin with {name!r}: {which}; give more digits"
        raise RunError(msg)
    return found[0]


def _check_same(program: Program, recorded: PerQuery, now: PerQuery, run: Path) -> None:
    """Refuse a program that does not do what it did in the run: the frozen figures would not be its own."""
    for query, values in recorded.items():
        for metric, value in values.items():
            if not math.isclose(value, now[query][metric], abs_tol=_SAME):
                msg = (
                    f"program {program.sha256[:12]} of {run} has {metric} {now[query][metric]:.4f} for query {query!r} "
                    f"where the run had {value:.4f}; run the search again with what is installed now"
                )
                raise RunError(msg)


def _gains(new: dict[str, Any], old: dict[str, Any], objective: Objective) -> list[float]:
    return [objective_value(new[query], objective) - objective_value(old[query], objective) for query in old]
