"""A reason and its figures as one line for people and models."""

from collections.abc import Mapping
from typing import Any

from autoindex_haystack.evaluation.diagnosis.reasons import Reason

_NAMED = 3
"""Terms that a line names."""


def explain(reason: Reason, figures: Mapping[str, Any]) -> str:
    """Write the line.

    :param reason: The reason.
    :param figures: The figures of :class:`~autoindex_haystack.evaluation.diagnosis.reasons.Miss`.
    :returns: A sentence without a line end.
    """
    match reason:
        case Reason.NOT_IN_CORPUS:
            return "it was judged, but the corpus does not hold it"
        case Reason.EMPTY_QUERY:
            return "the analyzer leaves no term of the query"
        case Reason.UNREACHABLE:
            return "no chunk of it has a token"
        case Reason.FOUND:
            return f"it is found at rank {figures['rank']} with {figures['score']:.2f}"
        case Reason.NO_SHARED_TERM:
            return f"it has none of the query's {len(figures['terms'])} terms in any form"
        case Reason.VARIANT_FORM:
            said = _list(f"{_list(repr(f) for f in v['forms'])} for {t!r}" for t, v in _lacking(figures, "forms"))
            return f"it says {said}; counted as the same words {_would(reason, figures)}"
        case Reason.DROPPED:
            said = _list(f"{t!r} ({v['tf_document']} times)" for t, v in _lacking(figures, "tf_document"))
            return f"the program leaves out {said}; with it {_would(reason, figures)}"
        case Reason.SPLIT:
            return f"the query's terms stand in different chunks; as one chunk {_would(reason, figures)}"
        case Reason.LENGTH:
            length = f"{figures['tokens']:,} tokens where {figures['average_tokens']:,.0f} are average"
            return f"it is long, {length}; at average length {_would(reason, figures)}"
        case Reason.DROWNED:
            part = figures["part"]
            size = f"{part['tokens']} of {figures['tokens']:,} tokens"
            return f"{size} ({part['begins']!r}) have what the query asks for; alone {_would(reason, figures)}"
        case Reason.FEW_TERMS:
            lacking = [(t, v) for t, v in _heaviest(figures) if not v["tf"] and not v["tf_document"] and not v["forms"]]
            return (
                f"it has {figures['covered']:.0%} of the query's weight and lacks "
                f"{_list(repr(t) for t, _ in lacking)}: {_now(figures)}"
            )
        case Reason.CROWDED_OUT:
            return f"it has {figures['covered']:.0%} of the query's weight, but others have more: {_now(figures)}"


def _would(reason: Reason, figures: Mapping[str, Any]) -> str:
    return f"it would score {figures['if'][str(reason)]:.2f}: {_now(figures)}"


def _now(figures: Mapping[str, Any]) -> str:
    rank = f"rank {figures['rank']:,}" if figures["rank"] else "not retrieved"
    cut = f"rank 100 has {figures['cut']:.2f}" if figures["cut"] else "fewer than 100 documents are retrieved"
    return f"it has {figures['score']:.2f} ({rank}), {cut}"


def _lacking(figures: Mapping[str, Any], what: str) -> list[tuple[str, Mapping[str, Any]]]:
    return [(term, values) for term, values in _heaviest(figures) if not values["tf"] and values[what]]


def _heaviest(figures: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return sorted(figures["terms"].items(), key=lambda item: (-item[1]["idf"], item[0]))


def _list(parts: Any) -> str:
    found = list(parts)
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more
