"""What a proposer suggests, written down before it is used, and recalled when a search goes on.

A proposer is asked only for what the journal does not hold. What it remembers beside the history (which of two
proposers has nothing left, what to tell the user) is written down with each answer and given back to it.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from autoindex_haystack.optimizer.trials import Trials
from autoindex_haystack.proposers import Candidate, Outcome, Proposer, ProposerState, Remembering, SearchEnded
from autoindex_haystack.runs import RunFolder, kept_program

_PROPOSAL, _COMBINATION = "proposal", "combination"


class Proposals:
    """Asks one proposer, each question once in a run.

    :param proposer: The proposer.
    :param folder: Where its answers are written down.
    :param trials: Counts the time.
    """

    def __init__(self, proposer: Proposer, folder: RunFolder, trials: Trials) -> None:
        self._proposer = proposer
        self._folder = folder
        self._trials = trials

    def propose(self, state: ProposerState) -> list[Candidate]:
        """Suggest programs; see :class:`autoindex_haystack.proposers.Proposer`.

        :param state: What there is to know.
        :returns: At most ``state.number`` candidates.
        :raises SearchEnded: If the proposer cannot go on.
        """
        record = self._recall(_PROPOSAL)
        if record is None:
            self._trials.pause()
            candidates: list[Candidate] = []
            ended: SearchEnded | None = None
            with self._trials.timed("propose") as taken:
                try:
                    candidates = self._proposer.propose(state)[: state.number]
                except SearchEnded as found:
                    ended = found
            more = {"ended": str(ended)} if ended else {}
            self._write(_PROPOSAL, state, candidates, seconds=taken, **more)
            if ended:
                raise ended
            return candidates
        if "ended" in record:
            raise SearchEnded(record["ended"])
        return self._candidates(record)

    def combine(self, state: ProposerState, improvements: Sequence[Outcome]) -> Candidate | None:
        """Join improvements; see :class:`autoindex_haystack.proposers.Proposer`.

        :param state: What there is to know.
        :param improvements: Two or more outcomes, the best first.
        :returns: A candidate, or None when they cannot be joined.
        """
        record = self._recall(_COMBINATION)
        if record is None:
            self._trials.pause()
            with self._trials.timed("propose") as taken:
                found = self._proposer.combine(state, improvements)
            self._write(_COMBINATION, state, [found] if found else (), seconds=taken)
            return found
        return next(iter(self._candidates(record)), None)

    def _write(self, kind: str, state: ProposerState, candidates: Sequence[Candidate], **more: Any) -> None:
        told = []
        for candidate in candidates:
            self._folder.add_program(candidate.source, candidate.sha256)
            fields = asdict(candidate)
            del fields["source"]
            told.append({"program": candidate.sha256, **fields})
        if isinstance(self._proposer, Remembering):
            more["memory"] = self._proposer.memory()
        self._folder.append({"record": kind, "iteration": state.iteration, "candidates": told, **more})

    def _recall(self, kind: str) -> dict[str, Any] | None:
        record = self._folder.journal.recall(kind)
        if record:
            self._trials.add_seconds(record["seconds"])
            if isinstance(self._proposer, Remembering):
                self._proposer.remember(record["memory"])
        return record

    def _candidates(self, record: dict[str, Any]) -> list[Candidate]:
        return [self._candidate(dict(told)) for told in record["candidates"]]

    def _candidate(self, told: dict[str, Any]) -> Candidate:
        source = kept_program(self._folder.path, told.pop("program")).source
        return Candidate(source, **{**told, "parents": tuple(told["parents"])})
