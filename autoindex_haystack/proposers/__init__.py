"""Proposers: who suggests programs to the optimizer. They never run one."""

from autoindex_haystack.proposers.base import (
    Candidate,
    CollectionView,
    Dropped,
    Outcome,
    Proposer,
    ProposerState,
    Remembering,
    Reporting,
    SearchEnded,
)

__all__ = [
    "Candidate",
    "CollectionView",
    "Dropped",
    "Outcome",
    "Proposer",
    "ProposerState",
    "Remembering",
    "Reporting",
    "SearchEnded",
]
