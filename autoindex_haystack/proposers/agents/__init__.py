"""The paper's two agents: one finds out why retrieval fails, the other writes programs. They never run one."""

from autoindex_haystack.proposers.agents.proposer import AgentsProposer
from autoindex_haystack.proposers.agents.settings import CONDITIONS, AgentSettings

__all__ = ["CONDITIONS", "AgentSettings", "AgentsProposer"]
