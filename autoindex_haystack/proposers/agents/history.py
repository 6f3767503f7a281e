"""The search history as the code agent reads it: what each program did, what came of it, and how it differs."""

import difflib
from collections.abc import Mapping, Sequence

from autoindex_haystack.proposers.agents.cutting import line
from autoindex_haystack.proposers.base import Outcome, ProposerState

_DIFF_LINES = 40
_QUERIES = 3
_QUERY_LENGTH = 60
_IDEA = 200
_ERROR = 300


def tell_history(state: ProposerState, *, queries: bool, room: int) -> str:
    """Write the history down.

    :param state: What there is to know.
    :param queries: Whether the queries that got better or worse are named.
    :param room: Characters that it may have. The latest programs are told in full, the others in a line or two, and the
        oldest are left out when there is no room for that.
    :returns: The text; empty when nothing was tried.
    """
    brief = [_brief(outcome) for outcome in state.history]
    told: list[str] = []
    left = room
    for i in reversed(range(len(brief))):
        # What follows needs room for its lines at least, so details are for the latest.
        full = f"{brief[i]}\n{_details(state.history[i], state, queries=queries)}"
        rest = sum(len(other) + 1 for other in brief[:i])
        text = full if len(full) + rest <= left else brief[i]
        if len(text) > left:
            told.append(f"(and {i + 1} earlier ones)")
            break
        told.append(text)
        left -= len(text) + 1
    return "\n".join(reversed(told))


def diff(source: str, parent: str, lines: int = _DIFF_LINES) -> str:
    """Returns how a program differs from its parent, without the lines that are the same, cut after some lines."""
    found = list(difflib.unified_diff(parent.splitlines(), source.splitlines(), lineterm="", n=1))[2:]
    cut = [f"… {len(found) - lines} more lines"] if len(found) > lines else []
    return "\n".join([*(text[:160] for text in found[:lines]), *cut])


def queries_said(ids: Sequence[str], texts: Mapping[str, str]) -> str:
    """Returns a line that names some queries and tells how many there are; empty when there are none."""
    if not ids:
        return ""
    named = "; ".join(f"{query} “{line(texts.get(query, ''), _QUERY_LENGTH)}”" for query in ids[:_QUERIES])
    return f"{len(ids)} queries: {named}" + (" …" if len(ids) > _QUERIES else "")


def parent_source(outcome: Outcome, state: ProposerState) -> str:
    """Returns the source of the program that a candidate was made from; empty when it is the baseline or unknown."""
    known = {other.candidate.sha256: other.candidate.source for other in state.history}
    known[state.incumbent.sha256] = state.incumbent.source
    return next((known[parent] for parent in outcome.candidate.parents if parent in known), "")


def _brief(outcome: Outcome) -> str:
    kind = "combination" if outcome.combined else "program"
    by = " by a proposer without a language model" if outcome.candidate.proposer == "builtin" else ""
    head = f"- Iteration {outcome.iteration}, {kind}{by}: {line(outcome.candidate.idea, _IDEA)}"
    if outcome.dropped and outcome.gain is not None:
        return (
            f"{head}\n  not adopted: dropped after {outcome.dropped.documents:,} documents, where its gain was "
            f"estimated at {outcome.gain:+.4f}"
        )
    if outcome.evaluation is None or outcome.gain is None:
        return f"{head}\n  failed: {line(outcome.error, _ERROR)}"
    metrics = outcome.evaluation.metrics
    verdict = "adopted" if outcome.adopted else "not adopted"
    refused = f"; refused, since {outcome.refused}" if outcome.refused else ""
    return (
        f"{head}\n  {verdict}: gain {outcome.gain:+.4f}, Recall@100 {metrics['recall@100']:.4f}, "
        f"nDCG@10 {metrics['ndcg@10']:.4f}, index {outcome.evaluation.growth:.1f} times the corpus; "
        f"{len(outcome.fixed)} queries better, {len(outcome.broken)} worse"
        f"{refused}"
    )


def _details(outcome: Outcome, state: ProposerState, *, queries: bool) -> str:
    parts = []
    if queries:
        texts = state.collection.queries
        for name, ids in (("better", outcome.fixed), ("worse", outcome.broken)):
            if ids:
                parts.append(f"  {name}: {queries_said(ids, texts)}")
    changed = diff(outcome.candidate.source, parent_source(outcome, state))
    if changed:
        parts.append(f"```diff\n{changed}\n```")
    return "\n".join(parts)
