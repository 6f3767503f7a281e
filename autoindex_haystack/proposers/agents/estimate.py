"""What a search with the agents will cost, as far as that can be told before it begins."""

import json
from dataclasses import asdict, dataclass

from autoindex_haystack.llm import Price, Usage
from autoindex_haystack.llm.types import estimated_tokens
from autoindex_haystack.proposers.agents.prompts import source
from autoindex_haystack.proposers.agents.settings import AgentSettings
from autoindex_haystack.proposers.agents.tools import tools

_USUAL_TURNS = 5
"""Turns that a model usually takes with tools, where it may take as many."""

_DESCRIPTION, _PROGRAM, _CASES, _REPORT, _HISTORY = 900, 600, 1_200, 500, 1_000
"""Tokens of what fills the prompts, as it usually is."""

_LOOK, _CALL, _IDEA = 350, 120, 120
"""Tokens of a tool's result, of a turn's answer and of an idea."""

_JOINED, _MENDED = 0.5, 0.25
"""How often an iteration joins improvements, and how often a program needs mending."""


@dataclass(frozen=True)
class Estimate:
    """What a search will cost.

    :param calls: Calls of the model as there usually are.
    :param most_calls: Calls at most, tries of failed ones apart.
    :param usage: Tokens as there usually are.
    """

    calls: int
    most_calls: int
    usage: Usage

    def text(self, price: Price | None = None) -> str:
        """Returns the estimate as a sentence.

        :param price: What the model costs, if it is known.
        """
        cost = f", about {price.of(self.usage):.2f} USD" if price else ""
        return (
            f"about {self.calls} calls of the model (at most {self.most_calls}) and {self.usage.total:,} tokens, "
            f"{self.usage.completion:,} of them answers{cost}"
        )


def estimate(settings: AgentSettings, iterations: int, candidates: int) -> Estimate:
    """Estimate a search.

    :param settings: How the agents work.
    :param iterations: Iterations in which the agents are asked.
    :param candidates: Candidates of an iteration.
    :returns: The estimate.
    """
    described = estimated_tokens(settings.description) if settings.description else _DESCRIPTION
    head = _prompt("code_system") + described + _PROGRAM
    if settings.condition == "one-shot":
        return Estimate(1, 2, Usage(head, 0, _PROGRAM))
    head += (_REPORT if settings.analysis else 0) + (_HISTORY if settings.history else 0)
    programs = candidates * (1 + _MENDED) + (_JOINED if candidates > 1 else 0)
    calls = 1 + programs
    prompt = calls * (head + _prompt("program")) + candidates * _MENDED * _PROGRAM
    completion = candidates * _IDEA + programs * _PROGRAM
    most = 2 + 2 * candidates + (2 if candidates > 1 else 0)
    if settings.analysis:
        turns = min(settings.analysis_steps, _USUAL_TURNS)
        begin = _prompt("analysis_system") + described + _PROGRAM + _CASES + _tools()
        prompt += sum(min(settings.context_tokens, begin + turn * (_LOOK + _CALL)) for turn in range(turns + 1))
        completion += turns * _CALL + _REPORT
        calls += turns + 1
        most += settings.analysis_steps + 1
    usage = Usage(round(iterations * prompt), 0, round(iterations * completion), estimated=True)
    return Estimate(round(iterations * calls), iterations * most, usage)


def _prompt(name: str) -> int:
    return estimated_tokens(source(name))


def _tools() -> int:
    return estimated_tokens(json.dumps([asdict(tool) for tool in tools()]))
