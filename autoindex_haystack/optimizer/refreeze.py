"""Freezing another program of a finished run than the one that was adopted."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from autoindex_haystack.collection import load_collection, load_split
from autoindex_haystack.errors import RunError
from autoindex_haystack.evaluation import METRICS, Evaluator, means, paired_difference
from autoindex_haystack.evaluation.objective import Objective, objective_value
from autoindex_haystack.frozen import (
    ComponentSettings,
    Figures,
    FrozenComponent,
    LearnedOn,
    Step,
    new_manifest,
    write_frozen,
)
from autoindex_haystack.optimizer.correction import luck_of_the_choice
from autoindex_haystack.optimizer.finish import measured_gain
from autoindex_haystack.program import Program, builtin_program
from autoindex_haystack.runs import installed_versions, read_info, read_result
from autoindex_haystack.sandbox import Isolation, Limits

_SHORTEST = 6


def freeze_from_run(
    run: Path,
    program_sha256: str,
    out: Path | None = None,
    *,
    collection: Path | None = None,
    workers: int = 1,
    isolation: Isolation = "full",
    force: bool = False,
) -> FrozenComponent:
    """Freeze a program that a run has evaluated; the held-out queries are scored for it now, once.

    :param run: The run folder.
    :param program_sha256: The program's hash, or at least six digits of its beginning.
    :param out: The new folder; ``frozen-`` and the hash's first digits in the run folder when not given.
    :param collection: The collection's folder, when it is no longer where it was.
    :param workers: Worker processes.
    :param isolation: ``full``, or ``process-only`` for workers that the kernel does not lock.
    :param force: Replace what is there.
    :returns: The frozen component.
    :raises RunError: If the run holds no such program, or the folder exists.
    :raises CollectionError: If the collection cannot be read.
    """
    info, result = read_info(run), read_result(run)
    records = _evaluations(run)
    record = _find(records, program_sha256, run)
    where = collection or (Path(info.collection_path) if info.collection_path else None)
    if where is None:
        msg = f"{run} does not say where its collection is; give it with --collection"
        raise RunError(msg)
    corpus = load_collection(where, metadata_fields=info.settings.metadata_fields)
    if corpus.fingerprint != info.fingerprint:
        msg = f"{where} is not the collection of {run}, or was changed since; give the same one with --collection"
        raise RunError(msg)
    split = load_split(run, corpus)
    program = Program((run / "programs" / f"{record['program']}.py").read_text(encoding="utf-8"))
    with Evaluator(
        corpus,
        info.settings.bm25,
        backend=info.settings.backend,
        limits=Limits(seconds=info.settings.timeout, unreachable=info.settings.max_unreachable),
        workers=workers,
        allowed_imports=info.settings.allowed_imports,
        key=bytes.fromhex(info.id_key),
        isolation=isolation,
    ) as evaluator:
        learned = evaluator.evaluate(program, split.held_out)
        baseline = evaluator.evaluate(builtin_program("full_document"), split.held_out)
        layers = list(evaluator.layers)
    objective: Objective = result.gain.objective  # type: ignore[assignment]
    gains = np.array([_gains(other["scores"], records[0]["scores"], objective) for other in records])
    own = _gains(record["scores"], records[0]["scores"], objective)
    manifest = new_manifest(
        program,
        learned.state,
        ComponentSettings(
            bm25=info.settings.bm25,
            metadata_fields=info.settings.metadata_fields,
            allowed_imports=info.settings.allowed_imports,
        ),
        learned_on=LearnedOn(
            name=corpus.name,
            fingerprint=corpus.fingerprint,
            documents=len(corpus.documents),
            validation_queries=len(split.validation),
            held_out_queries=len(split.held_out),
            split_seed=split.seed,
        ),
        baseline=Figures(validation=records[0]["metrics"], held_out=means(baseline.scores)),
        learned=Figures(validation=record["metrics"], held_out=means(learned.scores)),
        gain=measured_gain(
            objective,
            "chosen by hand",
            detectable=result.gain.detectable,
            validation=float(np.mean(own)),
            luck=luck_of_the_choice(gains),
            learned=learned.scores,
            baseline=baseline.scores,
        ),
        intervals={
            metric: (difference.low, difference.high)
            for metric in METRICS
            for difference in [
                paired_difference(
                    [learned.scores[query][metric] for query in split.held_out],
                    [baseline.scores[query][metric] for query in split.held_out],
                )
            ]
        },
        lineage=[Step(iteration=0, program_sha256=program.sha256, idea="chosen by hand", gain=float(np.mean(own)))],
        versions=installed_versions(),
        isolation=layers,
    )
    place = out or run / f"frozen-{program.sha256[:12]}"
    return write_frozen(place, manifest, program, learned.state, force=force)


def _evaluations(run: Path) -> list[dict[str, Any]]:
    """The records of all evaluated programs, the baseline's first."""
    lines = (run / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines if '"evaluation"' in line]
    return [record for record in records if record["record"] == "evaluation"]


def _find(records: list[dict[str, Any]], program_sha256: str, run: Path) -> dict[str, Any]:
    beginning = program_sha256.lower()
    found = [record for record in records if record["program"].startswith(beginning)]
    if len(beginning) < _SHORTEST or len(found) != 1:
        what = "holds no evaluated program" if not found else f"needs {_SHORTEST} or more digits of a single program"
        msg = f"{run} {what} {program_sha256!r}; result.json lists programs under pareto"
        raise RunError(msg)
    return found[0]


def _gains(new: dict[str, Any], old: dict[str, Any], objective: Objective) -> list[float]:
    return [objective_value(new[query], objective) - objective_value(old[query], objective) for query in old]
