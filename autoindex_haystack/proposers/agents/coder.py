"""The code agent: has ideas, writes a program for each, mends what fails its checks, and joins what helped."""

from collections.abc import Callable, Sequence
from typing import Any

from autoindex_haystack.llm import ContextTooLong, Message, Recorded, Reply, Request, Schema
from autoindex_haystack.program.source import ALLOWED_MODULES
from autoindex_haystack.proposers.agents.answers import IDEAS, Idea, read_ideas, read_program
from autoindex_haystack.proposers.agents.cutting import cut, line
from autoindex_haystack.proposers.agents.history import diff, queries_said, tell_history
from autoindex_haystack.proposers.agents.prompts import fill, rules
from autoindex_haystack.proposers.agents.settings import AgentSettings
from autoindex_haystack.proposers.base import Candidate, Outcome, ProposerState
from autoindex_haystack.sandbox import Limits

_ROLE = "code"
_PROGRAM = 16_000
_ROOMS = (6_000, 2_000, 0)
"""Characters that the history may have: at first, and when the model's context turns out to be small."""

_PROBLEM = 1_500
_IDEA = 200
_COMBINED_DIFF = 60
_NO_PROGRAM = (
    "The answer holds no program. A program defines `class Preprocessor(BasePreprocessor)` in a ```python block."
)
_CUT_OFF = "The answer was cut off at its longest length, before the program was complete. Write a shorter program."

Useless = tuple[str, str]
"""What an answer was that is no use, for one and for many."""

_REFUSAL = ("refusal", "refusals")
_NO_IDEAS = ("answer without ideas", "answers without ideas")
_WITHOUT = ("answer without a program", "answers without a program")
_FAILING = ("program that failed its checks also after repair", "programs that failed their checks also after repair")

Report = Callable[[Useless], None]
"""Called with what came of an answer that was no use."""


class CodeAgent:
    """Writes programs.

    :param model: The model.
    :param settings: How the agents work.
    :param report: Called for each answer that was no use.
    """

    def __init__(self, model: Recorded, settings: AgentSettings, report: Report) -> None:
        self._model = model
        self._settings = settings
        self._report = report

    def ideas(self, state: ProposerState, description: str, summary: str) -> list[Idea]:
        """Have ideas that differ in mechanism.

        :param state: What there is to know.
        :param description: What the corpus is.
        :param summary: The analysis agent's report; may be empty.
        :returns: At most ``state.number`` ideas.
        :raises LLMError: If the model cannot be asked.
        """
        for attempt in (1, 2):
            reply = self._ask(
                f"iteration {state.iteration}, ideas {attempt}",
                lambda room: self._messages("ideas", state, description, summary, room, number=state.number),
                IDEAS,
            )
            found = [] if reply.finish == "refusal" else read_ideas(reply.text, state.number)
            if found:
                return found
            self._report(_REFUSAL if reply.finish == "refusal" else _NO_IDEAS)
        return []

    def write(
        self, state: ProposerState, description: str, summary: str, ideas: Sequence[Idea], number: int
    ) -> Candidate | None:
        """Write the program of one idea.

        :param state: What there is to know.
        :param description: What the corpus is.
        :param summary: The analysis agent's report; may be empty.
        :param ideas: All ideas of the iteration.
        :param number: Which of them, from 1.
        :returns: The candidate; None when no answer held a program.
        :raises LLMError: If the model cannot be asked.
        """
        idea = ideas[number - 1]
        source = self._program(
            f"iteration {state.iteration}, program {number}",
            lambda room: self._messages(
                "program",
                state,
                description,
                summary,
                room,
                idea=idea,
                others=[line(other.idea, _IDEA) for other in ideas if other is not idea],
            ),
            state,
        )
        said = line(idea.idea, _IDEA)
        return Candidate(source, said, line(idea.mechanism, 1_000), (state.incumbent.sha256,)) if source else None

    def once(self, state: ProposerState, description: str) -> Candidate | None:
        """Write one program from the description alone.

        :param state: What there is to know.
        :param description: What the corpus is.
        :returns: The candidate; None when no answer held a program.
        :raises LLMError: If the model cannot be asked.
        """
        source = self._program(
            f"iteration {state.iteration}, only program",
            lambda _: self._messages("one_shot", state, description, "", 0),
            state,
        )
        idea = "one program from the description of the corpus"
        return Candidate(source, idea, parents=(state.incumbent.sha256,)) if source else None

    def combine(self, state: ProposerState, description: str, improvements: Sequence[Outcome]) -> Candidate | None:
        """Join improvements in one program.

        :param state: What there is to know.
        :param description: What the corpus is.
        :param improvements: Two or more outcomes, the best first.
        :returns: The candidate; None when no answer held a program.
        :raises LLMError: If the model cannot be asked.
        """
        told = [self.told(outcome, state, self._settings) for outcome in improvements]
        source = self._program(
            f"iteration {state.iteration}, combination",
            lambda _: self._messages("combine", state, description, "", 0, improvements=told),
            state,
        )
        if source is None:
            return None
        ideas = "; ".join(outcome.candidate.idea for outcome in improvements)
        parents = tuple(outcome.candidate.sha256 for outcome in improvements)
        return Candidate(source, f"together: {ideas}", f"each of {len(improvements)} changes helped alone", parents)

    def _program(self, label: str, messages: Callable[[int], list[Message]], state: ProposerState) -> str | None:
        """Ask for a program, and once more with the exact error when it fails its checks."""
        reply = self._ask(label, messages)
        source, problem = self._checked(reply, state, label)
        if not problem:
            return source
        mending: list[Message] = [
            reply.message() if reply.text else {"role": "assistant", "content": "(nothing)"},
            {"role": "user", "content": fill("repair", problem=cut(problem, _PROBLEM))},
        ]
        again = self._ask(f"{label}, repair", lambda room: [*messages(room), *mending])
        mended, problem = self._checked(again, state, f"{label}, repair")
        if problem:
            self._report(_FAILING if mended else _WITHOUT)
        # A program that still fails is an outcome too: the history will say so.
        return mended or source

    def _checked(self, reply: Reply, state: ProposerState, label: str) -> tuple[str | None, str]:
        """The program in an answer, and what is wrong with it."""
        source = None if reply.finish == "refusal" else read_program(reply.text)
        if source is None:
            return None, _CUT_OFF if reply.finish == "length" else _NO_PROGRAM
        problems = state.check(source)
        if problems:
            return source, _CUT_OFF if reply.finish == "length" else "\n".join(problems)
        if state.trial is None:
            return source, ""
        trial = state.trial
        # What a process does within limits of time is another thing on another machine.
        return source, str(self._model.remember(f"{label}, check", lambda: trial(source)))

    def _ask(self, label: str, messages: Callable[[int], list[Message]], schema: Schema | None = None) -> Reply:
        """Ask, with a shorter history when the messages are too long for the model."""
        for smaller, room in enumerate(_ROOMS):
            request = Request(
                f"{label}, smaller {smaller}" if smaller else label,
                _ROLE,
                messages(room),
                schema=schema,
                max_tokens=self._settings.answer_tokens,
            )
            try:
                return self._model.complete(request)
            except ContextTooLong:
                if room == _ROOMS[-1]:
                    raise
        raise AssertionError

    def _messages(
        self, name: str, state: ProposerState, description: str, summary: str, room: int, **values: Any
    ) -> list[Message]:
        return code_messages(name, state, description, self._settings, summary=summary, room=room, **values)

    @staticmethod
    def told(outcome: Outcome, state: ProposerState, settings: AgentSettings) -> dict[str, Any]:
        """Returns what is told of an improvement that is to be joined with others.

        :param outcome: The improvement.
        :param state: What there is to know.
        :param settings: How the agents work.
        """
        assert outcome.evaluation
        texts = state.collection.queries
        said = {
            name: queries_said(ids, texts) if settings.analysis else f"{len(ids)} queries"
            for name, ids in (("fixed", outcome.fixed), ("broken", outcome.broken))
        }
        return {
            "idea": outcome.candidate.idea,
            "gain": outcome.gain,
            "ndcg": outcome.evaluation.metrics["ndcg@10"],
            "diff": diff(outcome.candidate.source, state.incumbent.source, _COMBINED_DIFF),
            **said,
        }


def code_messages(
    name: str,
    state: ProposerState,
    description: str,
    settings: AgentSettings,
    *,
    summary: str = "",
    room: int = _ROOMS[0],
    **values: Any,
) -> list[Message]:
    """Make the code agent's messages for one task.

    :param name: The prompt of the task.
    :param state: What there is to know.
    :param description: What the corpus is.
    :param settings: How the agents work.
    :param summary: The analysis agent's report; may be empty.
    :param room: Characters that the history may have.
    :param values: What else the prompt asks for.
    :returns: The instructions and the task.
    """
    limits = Limits()
    once = settings.condition == "one-shot"
    system = fill(
        "code_system",
        modules=[*sorted(ALLOWED_MODULES - {"__future__"}), *settings.allowed_imports],
        chunks=f"{limits.chunks:,}",
        growth=limits.document_growth,
        sample=f"{limits.sample_documents:,}",
        state=limits.state_bytes >> 20,
        unreachable=f"{100 * limits.unreachable:g}",
        **rules(state),
    )
    task = fill(
        name,
        description=description,
        program=cut(state.incumbent.source, _PROGRAM),
        metrics={} if once else state.evaluation.metrics,
        baseline={} if once else state.baseline.metrics,
        summary=summary,
        history=tell_history(state, queries=settings.analysis, room=room) if settings.history and room else "",
        **values,
    )
    return [{"role": "system", "content": system}, {"role": "user", "content": task}]
