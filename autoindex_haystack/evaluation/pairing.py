"""Two programs on the same queries: which is better, by how much, and whether that may be chance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoindex_haystack.collection import Collection, Split, load_collection, load_split, make_split
from autoindex_haystack.evaluation.evaluate import QuerySet, evaluate, resolve_program
from autoindex_haystack.evaluation.metrics import METRICS, ROUNDING
from autoindex_haystack.evaluation.outcome import Evaluation
from autoindex_haystack.evaluation.significance import PairedDifference, paired_difference, sign_flip_p_value
from autoindex_haystack.frozen import load_frozen
from autoindex_haystack.retrieval import BM25Settings

_OWN_SETTINGS = (
    "The two have different BM25 settings, and each was ranked with its own; --k1, --b and --analyzer set them for "
    "both."
)


@dataclass(frozen=True)
class MetricPair:
    """One metric of both programs.

    :param first: The first program's mean.
    :param second: The second program's mean.
    :param difference: Second minus first, with interval and paired t-test.
    :param p_sign_flip: The p-value of the paired permutation test.
    :param better: Queries for which the second is better; ``worse`` and ``same`` likewise.
    """

    first: float
    second: float
    difference: PairedDifference
    p_sign_flip: float
    better: int
    worse: int
    same: int


@dataclass(frozen=True)
class Pairing:
    """Two programs on the same queries.

    :param metrics: Metric to the comparison.
    :param notes: What a user should know to read it rightly.
    """

    first: Evaluation
    second: Evaluation
    metrics: dict[str, MetricPair]
    notes: list[str]


def compare_programs(
    collection: str | Path,
    first: str,
    second: str,
    *,
    queries: QuerySet = "all",
    split: Path | None = None,
    split_seed: int = 0,
    bm25: Callable[[BM25Settings], BM25Settings] = lambda own: own,
    metadata_fields: Sequence[str] = (),
    reading: Callable[[int], None] | None = None,
    **how: Any,
) -> Pairing:
    """Evaluate two programs on the same queries, each with the settings that belong to it, and compare them.

    :param collection: The collection's folder.
    :param first: A frozen component, a Python file or ``builtin:NAME``.
    :param second: Another one.
    :param queries: Which queries to score.
    :param split: The file of the split, or a run folder.
    :param split_seed: Seed of the split, when none is given.
    :param bm25: From a component's own BM25 settings to those that hold.
    :param metadata_fields: Metadata fields that both may see, beside those of a frozen component.
    :param reading: Called with the number of documents read so far.
    :param how: What else :func:`~autoindex_haystack.evaluation.evaluate` takes.
    :returns: The comparison.
    :raises AutoIndexError: If the collection, a program or the engine cannot be used.
    """
    evaluations: list[Evaluation] = []
    notes: dict[str, None] = {}
    loaded: dict[tuple[str, ...], Collection] = {}
    resolved = [resolve_program(given) for given in (first, second)]
    for given, found in zip((first, second), resolved, strict=True):
        fields = tuple(dict.fromkeys((*found.settings.metadata_fields, *metadata_fields)))
        if fields not in loaded:
            loaded[fields] = load_collection(collection, metadata_fields=fields, progress=reading)
        here = loaded[fields]
        chosen = load_split(split, here) if split else make_split(here, split_seed) if queries != "all" else None
        evaluations.append(evaluate(here, given, queries=queries, split=chosen, bm25=bm25(found.settings.bm25), **how))
        notes |= dict.fromkeys([*here.notes(), *_seen_before(given, here, queries, chosen)])
    own = [bm25(found.settings.bm25) for found in resolved]
    if own[0] != own[1]:
        notes[_OWN_SETTINGS] = None
    metrics = {metric: _pair(evaluations[0], evaluations[1], metric) for metric in METRICS}
    return Pairing(evaluations[0], evaluations[1], metrics, list(notes))


def _pair(first: Evaluation, second: Evaluation, metric: str) -> MetricPair:
    old = [values[metric] for values in first.scores.values()]
    new = [second.scores[query][metric] for query in first.scores]
    changes = [b - a for a, b in zip(old, new, strict=True)]
    better, worse = (sum(sign * change > ROUNDING for change in changes) for sign in (1, -1))
    return MetricPair(
        first=first.metrics[metric],
        second=second.metrics[metric],
        difference=paired_difference(new, old),
        p_sign_flip=sign_flip_p_value(new, old),
        better=better,
        worse=worse,
        same=len(changes) - better - worse,
    )


def _seen_before(given: str, collection: Collection, queries: QuerySet, split: Split | None) -> list[str]:
    """Whether queries that chose a program are among those that it is compared on."""
    if not Path(given).is_dir():
        return []
    learned_on = load_frozen(given).manifest.learned_on
    if learned_on is None or learned_on.fingerprint != collection.fingerprint:
        return []
    if queries == "held-out" and split is not None and split.seed == learned_on.split_seed:
        return []
    note = f"{given} was chosen with validation queries of this collection, which may flatter it; compare with "
    return [note + "--queries held-out and the --split of its run."]
