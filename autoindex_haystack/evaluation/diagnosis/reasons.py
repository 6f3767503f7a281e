"""The reasons why a relevant document is missed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Reason(StrEnum):
    """Why a document is not among the first 100 of a query; each reason has its own cure."""

    FOUND = "found"
    """It is not missed."""

    NOT_IN_CORPUS = "not in the corpus"
    """It was judged, but the corpus does not hold it."""

    EMPTY_QUERY = "query without terms"
    """The analyzer leaves nothing of the query."""

    UNREACHABLE = "unreachable"
    """None of its chunks has a token."""

    NO_SHARED_TERM = "no shared term"
    """The document has none of the query's terms in any form."""

    VARIANT_FORM = "variant form"
    """Other forms of the query's terms stand in it; counted as the same words they would bring it in."""

    DROPPED = "dropped"
    """The query's terms stand in the document, but the program leaves them out; with them it would be in."""

    SPLIT = "split"
    """The query's terms stand in different chunks; the document as one chunk would be in."""

    LENGTH = "length"
    """With the same terms at average length it would be in."""

    DROWNED = "drowned"
    """One part of the document, as a chunk of its own, would be in; the rest drowns it."""

    FEW_TERMS = "few terms"
    """It has less than half of the query's weight, in whatever form; no other weighting brings it in."""

    CROWDED_OUT = "crowded out"
    """It has most of the query's weight, but more than 99 documents score higher."""


@dataclass(frozen=True)
class Miss:
    """Why one document is missed for one query.

    :param query_id: The query.
    :param doc_id: The document.
    :param reason: The reason.
    :param explanation: One line that says so with the figures that show it.
    :param figures: The figures, ready for JSON: ``rank`` (None when not retrieved), ``score``, ``cut`` (the score at
        rank 100, 0 when fewer documents are retrieved), ``tokens`` and ``average_tokens`` of the best chunk,
        ``covered`` (share of the query's weight), ``terms`` (for each term its ``idf``, ``tf`` in the best chunk,
        ``tf_document`` in the raw document and other ``forms`` there) and ``if`` (the score that each cure would give,
        by reason).
    """

    query_id: str
    doc_id: str
    reason: Reason
    explanation: str
    figures: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Returns all of it, ready for JSON."""
        return {**asdict(self), "reason": str(self.reason)}
