"""How the agents work."""

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Condition = Literal["full", "no-history", "no-analysis", "one-shot"]

CONDITIONS: tuple[str, ...] = get_args(Condition)
"""The conditions of the paper's ablation."""

LEAST_CALLS = 4
"""Tool calls before the analysis agent may report, as in the paper."""

CASES = 5
"""Queries sampled from each category, as in the paper."""


class AgentSettings(BaseModel):
    """How the agents work.

    :param condition: ``full``; ``no-history``: the code agent is not told what was tried; ``no-analysis``: there is no
        analysis agent, the code agent sees figures alone; ``one-shot``: one program, from the corpus's description.
    :param analysis_steps: Turns with tools that the analysis agent has at most.
    :param context_tokens: What the analysis agent's messages may hold; older results of tools are cut to keep it.
    :param answer_tokens: The longest answer.
    :param description: What the corpus is; written from the collection when empty.
    :param allowed_imports: Modules that programs may import beside the usual ones.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    condition: Condition = "full"
    analysis_steps: int = Field(default=12, ge=1)
    context_tokens: int = Field(default=12_000, ge=2_000)
    answer_tokens: int = Field(default=8_192, ge=256)
    description: str = ""
    allowed_imports: tuple[str, ...] = ()

    @property
    def analysis(self) -> bool:
        """Whether there is an analysis agent."""
        return self.condition in ("full", "no-history")

    @property
    def history(self) -> bool:
        """Whether the code agent is told what was tried."""
        return self.condition in ("full", "no-analysis")
