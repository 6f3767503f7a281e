"""Accounts: what each call cost, and the limits that a user sets."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, TypeAdapter, ValidationError

from autoindex_haystack.llm.errors import LLMError
from autoindex_haystack.llm.types import Usage


class Price(BaseModel):
    """What a model costs, in USD for a million tokens.

    :param input: Tokens of the prompt.
    :param cached_input: Tokens of the prompt that come from the endpoint's cache; as ``input`` when not given.
    :param output: Tokens of the answer, reasoning included.
    """

    model_config = ConfigDict(extra="forbid")

    input: NonNegativeFloat
    output: NonNegativeFloat
    cached_input: NonNegativeFloat | None = None

    def of(self, usage: Usage) -> float:
        """Returns what a usage costs, in USD."""
        cached = self.input if self.cached_input is None else self.cached_input
        fresh = usage.prompt - usage.cached
        return (fresh * self.input + usage.cached * cached + usage.completion * self.output) / 1e6


def read_prices(path: Path) -> dict[str, Price]:
    """Read a price table.

    :param path: A YAML or JSON file: model name to ``input``, ``output`` and perhaps ``cached_input``.
    :returns: The prices by model.
    :raises LLMError: If the file cannot be read as a price table.
    """
    import yaml

    try:
        return TypeAdapter(dict[str, Price]).validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, yaml.YAMLError) as error:
        detail = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error).splitlines()[0]
        msg = (
            f"{path} is no price table ({detail}); give a line such as "
            "`my-model: {input: 0.2, cached_input: 0.02, output: 0.8}`, in USD for a million tokens"
        )
        raise LLMError(msg) from error


@dataclass(frozen=True)
class Limits:
    """What a run may use; None for no limit.

    :param tokens: Tokens of all calls, of prompts and answers together.
    :param usd: Their cost in USD; needs a price.
    :param seconds: Time since the limits began to hold; no call is begun after it.
    """

    tokens: int | None = None
    usd: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Call:
    """One answered call.

    :param role: Who asked.
    :param usage: Its tokens.
    :param seconds: How long it took, tries and waiting included.
    :param tries: How often the request was sent.
    """

    role: str
    usage: Usage
    seconds: float
    tries: int = 1


@dataclass
class Totals:
    """Sums over calls."""

    calls: int = 0
    tries: int = 0
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)

    def add(self, call: Call) -> None:
        """Count one more call."""
        self.calls += 1
        self.tries += call.tries
        self.seconds += call.seconds
        self.usage += call.usage

    def as_json(self, price: Price | None) -> dict[str, Any]:
        """Returns the sums as a JSON object."""
        usage = self.usage
        return {
            "calls": self.calls,
            "tries": self.tries,
            "seconds": round(self.seconds, 3),
            "tokens": usage.total,
            "prompt_tokens": usage.prompt,
            "cached_tokens": usage.cached,
            "completion_tokens": usage.completion,
            "reasoning_tokens": usage.reasoning,
            "estimated": usage.estimated,
            "usd": round(price.of(usage), 6) if price else None,
        }


class Ledger:
    """All calls of a run.

    :param price: What the model costs, if it is known.
    """

    def __init__(self, price: Price | None = None) -> None:
        self.price = price
        self.calls: list[Call] = []

    def add(self, call: Call) -> None:
        """Write a call down."""
        self.calls.append(call)

    @property
    def totals(self) -> Totals:
        """The sums over all calls."""
        return _sum(self.calls)

    def as_json(self) -> dict[str, Any]:
        """Returns the sums over all calls and those by role, as a JSON object."""
        roles: dict[str, list[Call]] = defaultdict(list)
        for call in self.calls:
            roles[call.role].append(call)
        by_role = {role: _sum(calls).as_json(self.price) for role, calls in sorted(roles.items())}
        return {**self.totals.as_json(self.price), "by_role": by_role}


def _sum(calls: Sequence[Call]) -> Totals:
    totals = Totals()
    for call in calls:
        totals.add(call)
    return totals
