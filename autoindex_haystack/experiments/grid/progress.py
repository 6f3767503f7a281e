"""How a search went, candidate by candidate, out of its journal."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autoindex_haystack.runs import read_journal


@dataclass(frozen=True)
class Tried:
    """A candidate that was evaluated.

    :param iteration: Its iteration, from 1.
    :param gain: Its validation metric relative to the baseline's, minus 1.
    :param adopted: Whether it became the incumbent.
    """

    iteration: int
    gain: float
    adopted: bool


def read_progress(run: Path, metric: str) -> Sequence[Tried]:
    """Read what was tried in a run.

    :param run: The run folder.
    :param metric: The metric.
    :returns: The candidates in the order in which they were tried; those that failed are left out.
    :raises RunError: If the folder has no journal.
    """
    records = read_journal(run)
    metrics = {r["program"]: r["metrics"][metric] for r in records if r["record"] == "evaluation"}
    adopted = {(r["iteration"], r["adopted"]) for r in records if r["record"] == "decision"}
    if not metrics:
        return []
    # The baseline is the first program that is evaluated.
    baseline = next(iter(metrics.values()))
    return [
        Tried(r["iteration"], metrics[r["program"]] / baseline - 1, (r["iteration"], r["program"]) in adopted)
        for r in records
        if r["record"] == "candidate" and r["program"] in metrics and baseline > 0
    ]
