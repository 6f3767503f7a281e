"""The proposers by name."""

from collections.abc import Callable
from typing import Literal, get_args

from autoindex_haystack.llm import Recorded
from autoindex_haystack.proposers.agents import AgentSettings, AgentsProposer
from autoindex_haystack.proposers.alternating import AlternatingProposer
from autoindex_haystack.proposers.base import Proposer
from autoindex_haystack.proposers.builtin import BuiltinProposer

ProposerName = Literal["builtin", "agents", "both"]

PROPOSERS: tuple[str, ...] = get_args(ProposerName)


def make_proposer(name: str, model: Callable[[], Recorded], settings: AgentSettings) -> Proposer:
    """Make a proposer.

    :param name: ``builtin``, ``agents``, or ``both`` in turns, the agents first.
    :param model: Gives the agents' model; called only when there are agents.
    :param settings: How the agents work.
    :returns: The proposer.
    """
    if name == "builtin":
        return BuiltinProposer()
    agents = AgentsProposer(model(), settings)
    return agents if name == "agents" else AlternatingProposer(agents, BuiltinProposer())
