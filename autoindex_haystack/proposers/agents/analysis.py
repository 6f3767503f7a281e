"""The analysis agent: looks at sampled queries with its tools and reports why retrieval fails and succeeds."""

from autoindex_haystack.llm import ContextTooLong, Recorded, Reply, Request
from autoindex_haystack.proposers.agents.answers import SUMMARY, read_summary
from autoindex_haystack.proposers.agents.cases import sample_cases
from autoindex_haystack.proposers.agents.conversation import Conversation
from autoindex_haystack.proposers.agents.cutting import cut
from autoindex_haystack.proposers.agents.prompts import fill, rules
from autoindex_haystack.proposers.agents.settings import LEAST_CALLS, AgentSettings
from autoindex_haystack.proposers.agents.tools import Toolbox, tools
from autoindex_haystack.proposers.base import ProposerState

_ROLE = "analysis"
_REPORT = 6_000
"""Characters of a report that the code agent reads."""

_PROGRAM = 8_000
"""Characters of the current program that are shown."""

_REMINDERS = 2


class AnalysisAgent:
    """Investigates one incumbent.

    :param model: The model.
    :param settings: How the agents work.
    """

    def __init__(self, model: Recorded, settings: AgentSettings) -> None:
        self._model = model
        self._settings = settings

    def report(self, state: ProposerState, description: str) -> str:
        """Find out why retrieval fails and succeeds.

        :param state: What there is to know.
        :param description: What the corpus is.
        :returns: The report for the code agent; empty when the model gave none.
        :raises LLMError: If the model cannot be asked.
        """
        talk = Conversation(*analysis_messages(state, description, self._settings), self._settings.context_tokens)
        toolbox = Toolbox(state, self._model.remember)
        made = reminders = 0
        for step in range(1, self._settings.analysis_steps + 1):
            label = f"iteration {state.iteration}, analysis {step}"
            reply = self._ask(talk, label, with_tools=True)
            talk.hear(reply)
            for number, call in enumerate(reply.tool_calls, start=1):
                talk.tell(call.id, toolbox.run(call, f"{label}, tool {number}"))
            made += len(reply.tool_calls)
            if reply.tool_calls:
                continue
            if made >= LEAST_CALLS or reminders == _REMINDERS or reply.finish == "refusal":
                if report := read_summary(reply.text):
                    return cut(report, _REPORT)
                break
            reminders += 1
            talk.say(fill("analysis_more", made=made, least=LEAST_CALLS))
        talk.say(fill("analysis_summary"))
        reply = self._ask(talk, f"iteration {state.iteration}, analysis report", with_tools=False)
        # A report in another form is better than none.
        return "" if reply.finish == "refusal" else cut(read_summary(reply.text) or reply.text.strip(), _REPORT)

    def _ask(self, talk: Conversation, label: str, *, with_tools: bool) -> Reply:
        talk.make_room()
        smaller = 0
        while True:
            request = Request(
                label if not smaller else f"{label}, smaller {smaller}",
                _ROLE,
                talk.messages,
                # Also with the last request: messages that hold calls of tools make no sense without them.
                tools=tools(),
                may_call=with_tools,
                schema=None if with_tools else SUMMARY,
                max_tokens=self._settings.answer_tokens,
            )
            try:
                return self._model.complete(request)
            except ContextTooLong:
                smaller += 1
                if not talk.shrink():
                    raise


def analysis_messages(state: ProposerState, description: str, settings: AgentSettings) -> tuple[str, str]:
    """Returns the analysis agent's instructions and its task.

    :param state: What there is to know.
    :param description: What the corpus is.
    :param settings: How the agents work.
    """
    system = fill("analysis_system", steps=settings.analysis_steps, least=LEAST_CALLS, **rules(state))
    task = fill(
        "analysis_task",
        description=description,
        metrics=state.evaluation.metrics,
        baseline=state.baseline.metrics,
        program=cut(state.incumbent.source, _PROGRAM),
        groups=sample_cases(state),
    )
    return system, task
