"""What an experiment says: means with their spread over runs, gains against references, tests over queries."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from autoindex_haystack.evaluation import OBJECTIVE, paired_difference
from autoindex_haystack.experiments.grid.cells import CellResult
from autoindex_haystack.experiments.grid.spec import ExperimentSpec

K = TypeVar("K")

METRICS = (OBJECTIVE, "ndcg@10")

REFERENCES = {"builtin:full_document": "full_document", "builtin:passages": "passages"}
"""Programs against which gains are told, by what names them."""


@dataclass(frozen=True)
class Figure:
    """A condition's figure on a collection.

    :param mean: Mean over the runs of the mean over held-out queries.
    :param std: Standard deviation over the runs; None for fewer than two.
    :param gains: Reference to the relative gain of the mean.
    :param p_value: Of the paired t-test over queries against ``full_document``, corrected by Holm's method for all
        conditions and collections of the metric; None for the reference itself, or without one.
    """

    mean: float
    std: float | None
    gains: dict[str, float]
    p_value: float | None


@dataclass(frozen=True)
class Row:
    """A condition over all collections.

    :param condition: Its name.
    :param figures: Collection to figure.
    :param macro: Mean over the collections of the means.
    :param gains: Reference to the mean over the collections of the relative gains.
    :param runs: How many runs there are.
    :param tokens: Mean number of tokens a run.
    :param seconds: Mean seconds a run.
    """

    condition: str
    figures: dict[str, Figure]
    macro: float
    gains: dict[str, float]
    runs: int
    tokens: float
    seconds: float


@dataclass(frozen=True)
class Summary:
    """An experiment's figures.

    :param name: The experiment's name.
    :param collections: Names of the collections.
    :param references: Names of the references that are there.
    :param tables: Metric to rows.
    """

    name: str
    collections: tuple[str, ...]
    references: tuple[str, ...]
    tables: dict[str, tuple[Row, ...]]


def summarize(spec: ExperimentSpec, results: Sequence[CellResult]) -> Summary:
    """Summarize the cells of an experiment.

    :param spec: The experiment.
    :param results: The results of all its cells.
    :returns: The figures.
    """
    references = {
        REFERENCES[condition.program]: condition.name
        for condition in spec.conditions
        if condition.program in REFERENCES
    }
    collections = tuple(collection.label for collection in spec.collections)
    tables = {metric: tuple(_rows(spec, results, collections, references, metric)) for metric in METRICS}
    return Summary(spec.name, collections, tuple(references), tables)


def _rows(
    spec: ExperimentSpec,
    results: Sequence[CellResult],
    collections: Sequence[str],
    references: dict[str, str],
    metric: str,
) -> list[Row]:
    cells: dict[tuple[str, str], list[CellResult]] = {}
    for result in results:
        cells.setdefault((result.condition, result.collection), []).append(result)
    p_values = _tested(cells, references.get("full_document"), metric)
    rows = []
    for condition in (condition.name for condition in spec.conditions):
        figures = {
            collection: _figure(cells, condition, collection, references, metric, p_values)
            for collection in collections
        }
        runs = [run for collection in collections for run in cells[condition, collection]]
        rows.append(
            Row(
                condition,
                figures,
                macro=statistics.fmean(figure.mean for figure in figures.values()),
                gains={
                    name: statistics.fmean(figure.gains[name] for figure in figures.values())
                    for name in references
                    if all(name in figure.gains for figure in figures.values())
                },
                runs=len(runs),
                tokens=statistics.fmean(run.tokens for run in runs),
                seconds=statistics.fmean(run.seconds for run in runs),
            )
        )
    return rows


def _figure(
    cells: dict[tuple[str, str], list[CellResult]],
    condition: str,
    collection: str,
    references: dict[str, str],
    metric: str,
    p_values: dict[tuple[str, str], float],
) -> Figure:
    runs = cells[condition, collection]
    values = [mean_of(run, metric) for run in runs]
    gains = {}
    for reference, name in references.items():
        by_split = {run.split_seed: mean_of(run, metric) for run in cells[name, collection]}
        before = statistics.fmean(by_split[run.split_seed] for run in runs)
        if name != condition and before > 0:
            gains[reference] = statistics.fmean(values) / before - 1
    return Figure(
        statistics.fmean(values),
        statistics.stdev(values) if len(values) > 1 else None,
        gains,
        p_values.get((condition, collection)),
    )


def mean_of(result: CellResult, metric: str) -> float:
    """Returns the mean of a metric over a cell's held-out queries.

    :param result: The cell.
    :param metric: The metric.
    """
    return statistics.fmean(values[metric] for values in result.scores.values())


def _tested(
    cells: dict[tuple[str, str], list[CellResult]], reference: str | None, metric: str
) -> dict[tuple[str, str], float]:
    """Test every condition against the reference on each collection, and correct for the number of tests."""
    if reference is None:
        return {}
    p_values = {}
    for (condition, collection), runs in cells.items():
        if condition != reference:
            new, old = _by_query(runs, metric), _by_query(cells[reference, collection], metric)
            queries = sorted(new)
            difference = paired_difference([new[q] for q in queries], [old[q] for q in queries])
            p_values[condition, collection] = difference.p_value
    return holm(p_values)


def _by_query(runs: Sequence[CellResult], metric: str) -> dict[str, float]:
    """Each query's mean over the runs in which it was held out."""
    values: dict[str, list[float]] = {}
    for run in runs:
        for query, scores in run.scores.items():
            values.setdefault(query, []).append(scores[metric])
    return {query: statistics.fmean(found) for query, found in values.items()}


def holm(p_values: dict[K, float]) -> dict[K, float]:
    """Correct p-values for their number (Holm, "A simple sequentially rejective multiple test procedure", 1979).

    :param p_values: The p-values.
    :returns: The corrected ones: reject those below the level that all tests together shall have.
    """
    corrected: dict[K, float] = {}
    largest = 0.0
    for rank, (key, p_value) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_value))
        corrected[key] = largest
    return corrected
