"""The table of queries: figures and ranks before and after, and the documents that came in or dropped out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autoindex_haystack.errors import RunError
from autoindex_haystack.evaluation.metrics import ROUNDING
from autoindex_haystack.evaluation.objective import Objective, objective_value
from autoindex_haystack.report.programs import Tried
from autoindex_haystack.runs import QueryComparison, RankedDocument, RunResult, read_comparison, tell

_DOCUMENTS = 20
"""Documents that are shown for a query; the others are counted."""


@dataclass(frozen=True)
class QueryRow:
    """A query in the table.

    :param verdict: ``better``, ``worse`` or ``same``, by the objective.
    :param gain: The objective after minus before.
    :param documents: The relevant documents that either program finds; those that came in or dropped out first.
    :param hidden: How many more of them there are.
    :param reasons: For documents that came in or dropped out: why the one program missed them.
    """

    query: QueryComparison
    verdict: str
    gain: float
    documents: list[RankedDocument] = field(default_factory=list)
    hidden: int = 0
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class QueryTable:
    """The queries of one part of the split, those that changed most first.

    :param name: ``validation`` or ``held-out``.
    :param rows: The queries that are shown.
    :param count: How many there are.
    :param verdicts: How many of all are better, worse and the same.
    """

    name: str
    rows: list[QueryRow]
    count: int
    verdicts: dict[str, int]


def query_tables(
    run: Path, programs: Sequence[Tried], result: RunResult, objective: Objective, most: int
) -> list[QueryTable]:
    """Make the tables of validation and held-out queries.

    :param run: The run folder.
    :param programs: The baseline and the candidates.
    :param result: The run's result.
    :param objective: What decides whether a query is better or worse.
    :param most: How many queries each shows.
    :returns: The tables; of a run of an earlier version that of the validation queries alone, without texts and ranks.
    """
    comparison = read_comparison(run)
    reasons = _reasons(run)
    if comparison is not None:
        parts = {"validation": comparison.validation, "held-out": comparison.held_out}
    else:
        parts = {"validation": _from_journal(programs, result)}
    return [
        _table(name, queries, objective, reasons if name == "validation" else {}, most)
        for name, queries in parts.items()
    ]


def _table(
    name: str,
    queries: Sequence[QueryComparison],
    objective: Objective,
    reasons: Mapping[str, Mapping[str, str]],
    most: int,
) -> QueryTable:
    rows = []
    for query in queries:
        gain = objective_value(query.after, objective) - objective_value(query.before, objective)
        verdict = "better" if gain > ROUNDING else "worse" if gain < -ROUNDING else "same"
        moved = sorted(query.documents, key=lambda document: (document.before is None) == (document.after is None))
        known = reasons.get(query.query_id, {})
        rows.append(QueryRow(query, verdict, gain, moved[:_DOCUMENTS], max(0, len(moved) - _DOCUMENTS), known))
    rows.sort(key=lambda row: -abs(row.gain))
    verdicts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in ("better", "worse", "same")}
    return QueryTable(name, rows[:most], len(rows), verdicts)


def _reasons(run: Path) -> dict[str, dict[str, str]]:
    """Why the baseline, or else the learned program, missed a document: query id to document id to explanation."""
    try:
        story = tell(run)
    except RunError:
        return {}  # A program that failed when it was run again has no diagnosis.
    found: dict[str, dict[str, str]] = {}
    for miss in (*story.learned.missed, *story.baseline.missed):
        found.setdefault(miss.query_id, {})[miss.doc_id] = f"{miss.reason}: {miss.explanation}"
    return found


def _from_journal(programs: Sequence[Tried], result: RunResult) -> list[QueryComparison]:
    """What the journal tells of the validation queries."""
    learned = next(p for p in programs if p.sha256 == result.program_sha256 and p.scores)
    return [
        QueryComparison(
            query_id=query, text="", relevant=0, before=dict(before), after=dict(learned.scores[query]), documents=[]
        )
        for query, before in programs[0].scores.items()
    ]
