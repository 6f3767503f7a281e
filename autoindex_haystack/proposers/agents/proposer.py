"""The proposer of the paper: an analysis agent and a code agent behind the one seam of the optimizer."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from autoindex_haystack.llm import (
    ContextTooLong,
    Denied,
    EndpointError,
    LimitReached,
    LLMError,
    Recorded,
    ReplayError,
    Unreadable,
)
from autoindex_haystack.llm.errors import RecordingEnded
from autoindex_haystack.program import Program
from autoindex_haystack.proposers.agents.analysis import AnalysisAgent
from autoindex_haystack.proposers.agents.coder import CodeAgent, Useless
from autoindex_haystack.proposers.agents.describe import describe
from autoindex_haystack.proposers.agents.settings import AgentSettings
from autoindex_haystack.proposers.base import Candidate, Outcome, ProposerState, SearchEnded
from autoindex_haystack.wording import counted

_PATIENCE = 2
"""Iterations in a row without any program after which the search is ended."""


class AgentsProposer:
    """Suggests programs that a language model writes.

    :param model: The model; its exchanges are written down.
    :param settings: How the agents work.

    ```python
    from pathlib import Path

    from autoindex_haystack import optimize
    from autoindex_haystack.llm import EXCHANGES, Recorded
    from autoindex_haystack.llm.openai_chat import OpenAIChat
    from autoindex_haystack.proposers.agents import AgentsProposer

    model = OpenAIChat("qwen3-coder", base_url="http://localhost:8000/v1", api_key="none")
    optimize("my_collection", "my_run", proposer=AgentsProposer(Recorded(model, Path("my_run") / EXCHANGES)))
    ```
    """

    name = "agents"

    def __init__(self, model: Recorded, settings: AgentSettings = AgentSettings()) -> None:  # noqa: B008 - frozen
        self._model = model
        self._settings = settings
        self._useless: Counter[Useless] = Counter()
        self._description = ""
        self._analysis = AnalysisAgent(model, settings)
        self._coder = CodeAgent(model, settings, self._count)

    def propose(self, state: ProposerState) -> list[Candidate]:
        """Suggest programs; see :class:`autoindex_haystack.proposers.Proposer`.

        :raises SearchEnded: If the model cannot be asked any more.
        :raises LLMError: If it could not be asked at all.
        """
        if self._settings.condition == "one-shot" and state.iteration > 1:
            return []
        if self._idle_iterations(state) >= _PATIENCE:
            msg = f"the model gave no new program in {_PATIENCE} iterations in a row"
            raise SearchEnded(msg)
        candidates: list[Candidate] = []
        self._model.pause = state.pause
        try:
            self._collect(state, candidates)
        except LLMError as error:
            self._give_up(error, state, candidates)
        return candidates

    def combine(self, state: ProposerState, improvements: Sequence[Outcome]) -> Candidate | None:
        """Join improvements; see :class:`autoindex_haystack.proposers.Proposer`."""
        try:
            candidate = self._coder.combine(state, self._described(state), improvements)
        except LLMError as error:
            if _is_fault_of_replay(error):
                raise
            return None  # The best of them is kept; the next proposal will say what is wrong.
        return candidate if candidate and self._is_new(candidate, state, []) else None

    def settings(self) -> dict[str, Any]:
        """Returns how the agents work, for ``run.json``."""
        settings = self._settings.model_dump(mode="json")
        return {"model": self._model.name, "connection": self._model.connection, **settings}

    def account(self) -> dict[str, Any]:
        """Returns the sums over all calls, for ``result.json``."""
        return self._model.ledger.as_json()

    def notes(self) -> list[str]:
        """Returns what a user should know about the model's answers."""
        notes = [f"The model gave {counted(count, *what)}." for what, count in sorted(self._useless.items())]
        if changed := self._model.changed:
            said = counted(len(changed), "request was not that", "requests were not those")
            notes.append(f"{said} of the recorded run, the first is {changed[0]}.")
        return notes

    def memory(self) -> dict[str, Any]:
        """Returns what was of no use so far, for :meth:`notes`."""
        return {"useless": [[*what, count] for what, count in sorted(self._useless.items())]}

    def remember(self, memory: dict[str, Any]) -> None:
        """Remember what was returned by :meth:`memory`."""
        self._useless = Counter({(one, many): count for one, many, count in memory["useless"]})

    def _collect(self, state: ProposerState, candidates: list[Candidate]) -> None:
        """Add this iteration's candidates one by one, so that those before an error are kept."""
        description = self._described(state)
        if self._settings.condition == "one-shot":
            self._add(self._coder.once(state, description), state, candidates)
            return
        summary = self._report(state, description) if self._settings.analysis else ""
        ideas = self._coder.ideas(state, description, summary)
        for number in range(1, len(ideas) + 1):
            self._add(self._coder.write(state, description, summary, ideas, number), state, candidates)

    def _idle_iterations(self, state: ProposerState) -> int:
        """How many of the iterations in which the model was asked last gave nothing to try."""
        tried = {outcome.iteration for outcome in state.history if outcome.candidate.proposer in ("", self.name)}
        asked = self._model.labels()
        count = 0
        for iteration in range(state.iteration - 1, 0, -1):
            if any(label.startswith(f"iteration {iteration},") for label in asked):
                if iteration in tried:
                    break
                count += 1
        return count

    def _report(self, state: ProposerState, description: str) -> str:
        try:
            report = self._analysis.report(state, description)
        except ContextTooLong:
            report = ""
        if not report:
            self._count(("analysis without a report", "analyses without a report"))
        return report

    def _described(self, state: ProposerState) -> str:
        self._description = self._description or self._settings.description or describe(state.collection)
        return self._description

    def _add(self, candidate: Candidate | None, state: ProposerState, candidates: list[Candidate]) -> None:
        if candidate and self._is_new(candidate, state, candidates):
            candidates.append(candidate)

    def _is_new(self, candidate: Candidate, state: ProposerState, candidates: Sequence[Candidate]) -> bool:
        known = {outcome.candidate.sha256 for outcome in state.history}
        known |= {other.sha256 for other in candidates} | {Program(state.incumbent.source).sha256}
        if candidate.sha256 in known:
            self._count(("program that had been tried before", "programs that had been tried before"))
            return False
        return True

    def _give_up(self, error: LLMError, state: ProposerState, candidates: Sequence[Candidate]) -> None:
        """Decide what an error means: with candidates it is for the next iteration to meet it again.

        An endpoint that was never of any use is a mistake of the user's, unless it answers: then it is tried in vain.
        """
        unusable = isinstance(error, Denied | EndpointError) and not isinstance(error, Unreadable)
        if _is_fault_of_replay(error) or (unusable and not self._model.ledger.calls):
            raise error
        if not candidates:
            raise SearchEnded(str(error), for_all=isinstance(error, LimitReached | RecordingEnded)) from None

    def _count(self, what: Useless) -> None:
        self._useless[what] += 1


def _is_fault_of_replay(error: LLMError) -> bool:
    return isinstance(error, ReplayError) and not isinstance(error, RecordingEnded)
