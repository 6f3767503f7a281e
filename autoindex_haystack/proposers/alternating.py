"""Two proposers in turns, each seeing what the other has tried."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from autoindex_haystack.proposers.base import (
    Candidate,
    Outcome,
    Proposer,
    ProposerState,
    Remembering,
    Reporting,
    SearchEnded,
)


class AlternatingProposer:
    """Lets two proposers suggest programs in turns; when one has nothing left, the other goes on alone.

    :param first: Who has the odd iterations.
    :param second: Who has the even ones.
    """

    name = "both"

    def __init__(self, first: Proposer, second: Proposer) -> None:
        self._proposers = (first, second)
        self._ended: dict[str, str] = {}
        self._turn = first

    def propose(self, state: ProposerState) -> list[Candidate]:
        """Suggest programs; see :class:`autoindex_haystack.proposers.Proposer`.

        :raises SearchEnded: If neither can go on.
        """
        own = self._proposers[(state.iteration - 1) % 2]
        other = self._proposers[state.iteration % 2]
        for self._turn in (own, other):
            if self._turn.name in self._ended:
                continue
            try:
                if candidates := self._turn.propose(state):
                    return [replace(candidate, proposer=self._turn.name) for candidate in candidates]
            except SearchEnded as ended:
                if ended.for_all:
                    raise
                self._ended[self._turn.name] = str(ended)
        if len(self._ended) == len(self._proposers):
            raise SearchEnded("; ".join(self._ended.values()))
        return []

    def combine(self, state: ProposerState, improvements: Sequence[Outcome]) -> Candidate | None:
        """Join improvements, by whoever suggested them; see :class:`autoindex_haystack.proposers.Proposer`."""
        candidate = self._turn.combine(state, improvements)
        return candidate and replace(candidate, proposer=self._turn.name)

    def settings(self) -> dict[str, Any]:
        """Returns how the proposers work, for ``run.json``."""
        return {p.name: p.settings() for p in self._proposers if isinstance(p, Reporting)}

    def account(self) -> dict[str, Any]:
        """Returns what language models were used for, for ``result.json``."""
        accounts = [p.account() for p in self._proposers if isinstance(p, Reporting)]
        return accounts[0] if accounts else {}

    def notes(self) -> list[str]:
        """Returns what a user should know about the proposals."""
        ended = [f"The proposer {name} ended early: {reason}." for name, reason in self._ended.items()]
        return ended + [note for p in self._proposers if isinstance(p, Reporting) for note in p.notes()]

    def memory(self) -> dict[str, Any]:
        """Returns who has nothing left and whose turn it was, with what the proposers remember themselves."""
        parts = {p.name: p.memory() for p in self._proposers if isinstance(p, Remembering)}
        return {"ended": dict(self._ended), "turn": self._turn.name, "parts": parts}

    def remember(self, memory: dict[str, Any]) -> None:
        """Remember what was returned by :meth:`memory`."""
        self._ended = dict(memory["ended"])
        for proposer in self._proposers:
            if proposer.name == memory["turn"]:
                self._turn = proposer
            if isinstance(proposer, Remembering):
                proposer.remember(memory["parts"][proposer.name])
