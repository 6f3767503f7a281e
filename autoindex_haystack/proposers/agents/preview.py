"""All prompts, filled for one state of a search; what only a model can give is made up."""

from autoindex_haystack.proposers.agents.analysis import analysis_messages
from autoindex_haystack.proposers.agents.answers import Idea, Pattern, Recommendation, Summary
from autoindex_haystack.proposers.agents.coder import CodeAgent, code_messages
from autoindex_haystack.proposers.agents.describe import describe
from autoindex_haystack.proposers.agents.prompts import fill, names
from autoindex_haystack.proposers.agents.settings import LEAST_CALLS, AgentSettings
from autoindex_haystack.proposers.base import ProposerState

_IDEA = Idea(idea="(an idea of the code agent)", mechanism="(its mechanism)", risk="(its risk)")

_SUMMARY = Summary(
    patterns=[Pattern(pattern="(a pattern that the analysis agent found)", evidence=["(its evidence)"])],
    works=["(what works)"],
    recommendations=[Recommendation(change="(a recommendation)", why="(why)", risk="(its risk)")],
)


def filled_prompts(state: ProposerState, settings: AgentSettings) -> dict[str, str]:
    """Fill all prompts.

    :param state: What there is to know.
    :param settings: How the agents work; their description is written from the collection when it is empty.
    :returns: The texts by the prompts' names.
    """
    description = settings.description or describe(state.collection)
    system, task = analysis_messages(state, description, settings)
    improvements = [CodeAgent.told(outcome, state, settings) for outcome in state.history]
    summary = _SUMMARY.text() if settings.analysis else ""

    def code(name: str, summary: str = summary, **values: object) -> list[str]:
        messages = code_messages(name, state, description, settings, summary=summary, **values)  # type: ignore[arg-type]
        return [str(message["content"]) for message in messages]

    found = {
        "description": description,
        "analysis_system": system,
        "analysis_task": task,
        "analysis_more": fill("analysis_more", made=1, least=LEAST_CALLS),
        "analysis_summary": fill("analysis_summary"),
        "code_system": code("ideas", number=state.number)[0],
        "ideas": code("ideas", number=state.number)[1],
        "program": code("program", idea=_IDEA, others=["(the other ideas)"])[1],
        "repair": fill("repair", problem="(the exact error)"),
        "combine": code("combine", summary="", improvements=improvements)[1],
        "one_shot": code("one_shot", summary="")[1],
    }
    assert sorted(found) == names()
    return found
