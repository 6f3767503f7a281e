"""The queries that the analysis agent looks at: a stratified sample, drawn anew each iteration.

The categories are the paper's: **anchors** (the baseline finds a relevant document, the current program does not),
**recall violations** (the current program finds none, anchors apart), **small-margin positives** (it finds one, but not
at rank 1), and beside them successes, which have to be preserved.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.proposers.agents.cutting import line
from autoindex_haystack.proposers.agents.settings import CASES
from autoindex_haystack.proposers.base import ProposerState

ANCHORS = "Lost: found by documents as they are, missed by the current program"
VIOLATIONS = "Missed: no relevant document among the first 100"
SMALL_MARGIN = "Found, but not at rank 1"
SUCCESSES = "Found at rank 1"

CATEGORIES = (ANCHORS, VIOLATIONS, SMALL_MARGIN, SUCCESSES)

_TEXT = 240
_RELEVANT = 3
"""Relevant documents that are named for a query, those missed first."""


@dataclass(frozen=True)
class Case:
    """A query to look at.

    :param id: The query.
    :param text: Its text, cut.
    :param relevant: One line for each of some relevant documents: its id, grade and ranks.
    :param best: The document ranked first; empty when there is none.
    """

    id: str
    text: str
    relevant: tuple[str, ...]
    best: str


def sample_cases(state: ProposerState, size: int = CASES) -> dict[str, list[Case]]:
    """Sample the cases of an iteration.

    :param state: What there is to know.
    :param size: How many queries each category gives at most.
    :returns: Category to cases; the same for the same seed and iteration.
    """
    chance = random.Random(f"{state.seed}/{state.iteration}")
    found = categories(state)
    return {
        title: [_case(query, state) for query in sorted(chance.sample(found[title], min(size, len(found[title]))))]
        for title in CATEGORIES
    }


def categories(state: ProposerState) -> dict[str, list[str]]:
    """Sort the validation queries into the categories.

    :param state: What there is to know.
    :returns: Category to query ids, in their order.
    """
    found: dict[str, list[str]] = {title: [] for title in CATEGORIES}
    for query in state.collection.queries:
        relevant = _relevant(state, query)
        before = _best_rank(state.baseline, query, relevant)
        now = _best_rank(state.evaluation, query, relevant)
        if now is None:
            found[VIOLATIONS if before is None else ANCHORS].append(query)
        else:
            found[SMALL_MARGIN if now > 1 else SUCCESSES].append(query)
    return found


def _relevant(state: ProposerState, query: str) -> Mapping[str, int]:
    return {document: grade for document, grade in state.collection.qrels[query].items() if grade > 0}


def _best_rank(evaluation: Evaluation, query: str, relevant: Mapping[str, int]) -> int | None:
    ranks = (rank for rank, (document, _) in enumerate(evaluation.rankings[query], start=1) if document in relevant)
    return next(ranks, None)


def _case(query: str, state: ProposerState) -> Case:
    relevant = _relevant(state, query)
    before, now = (_ranks(evaluation.rankings[query]) for evaluation in (state.baseline, state.evaluation))
    missed_first = sorted(relevant, key=lambda document: (document in now, now.get(document, 0), document))
    lines = [
        f"{document} (grade {relevant[document]}): {_said(now.get(document))}"
        + (f", as it is: {_said(before.get(document))}" if state.baseline is not state.evaluation else "")
        for document in missed_first[:_RELEVANT]
    ]
    if len(relevant) > _RELEVANT:
        lines.append(f"… {len(relevant)} in all, {sum(document in now for document in relevant)} of them found")
    best = next((document for document, _ in state.evaluation.rankings[query]), "")
    return Case(query, line(state.collection.queries[query], _TEXT), tuple(lines), best)


def _ranks(ranking: Sequence[tuple[str, float]]) -> dict[str, int]:
    return {document: rank for rank, (document, _) in enumerate(ranking, start=1)}


def _said(rank: int | None) -> str:
    return f"rank {rank}" if rank else "missed"
