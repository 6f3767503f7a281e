"""What is sent to a language model and what comes back, whoever serves it.

Messages are those of the chat completions API as plain dictionaries, so that they can be sent, written down and hashed
without a translation.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

Message = Mapping[str, Any]
"""A message of the chat completions API: ``role``, ``content``, and ``tool_calls`` or ``tool_call_id``."""

Finish = Literal["stop", "tool_calls", "length", "refusal"]

CHARACTERS_PER_TOKEN = 4
"""The usual length of a token of English text or code, for estimates where no endpoint counts."""


@dataclass(frozen=True)
class Tool:
    """A function that the model may call.

    :param name: Its name.
    :param description: What it does, for the model.
    :param parameters: JSON schema of its arguments.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Schema:
    """The form that an answer must have.

    :param name: A name for it.
    :param schema: The JSON schema, with all properties required and no others allowed.
    """

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """One call of a model.

    :param label: What it is for; unique within a run, and how a recorded answer is found again. It is not sent.
    :param role: Who asks, for the accounts.
    :param messages: The conversation so far.
    :param tools: Functions that the model may call.
    :param may_call: Whether it may call them in this answer.
    :param schema: The form of the answer, where the endpoint can hold the model to one.
    :param max_tokens: The longest answer.
    :param seconds: Time that the call may take, tries and waiting included; no limit when not given.
    """

    label: str
    role: str
    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    may_call: bool = True
    schema: Schema | None = None
    max_tokens: int = 8192
    seconds: float | None = None

    def content(self) -> dict[str, Any]:
        """Returns what decides the answer, as JSON."""
        return {
            "messages": list(self.messages),
            "tools": [asdict(tool) for tool in self.tools],
            "may_call": self.may_call,
            "schema": asdict(self.schema) if self.schema else None,
        }

    def sha256(self) -> str:
        """Returns the hash of :meth:`content`, as hexadecimal digits."""
        return hashlib.sha256(json.dumps(self.content(), sort_keys=True).encode("ascii")).hexdigest()

    def estimated_tokens(self) -> int:
        """Returns about how many tokens the prompt has."""
        return estimated_tokens(json.dumps(self.content(), ensure_ascii=False))


@dataclass(frozen=True)
class ToolCall:
    """A call that the model wants made.

    :param id: What the answer must refer to.
    :param name: The tool's name, as the model wrote it.
    :param arguments: Its arguments as the model wrote them: JSON, if all is well.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Usage:
    """Tokens of one or several calls.

    :param prompt: Tokens of the prompt, ``cached`` of them read from the endpoint's cache.
    :param completion: Tokens of the answer, ``reasoning`` of them not shown.
    :param estimated: Whether the endpoint did not count, so that the numbers are estimates.
    """

    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        """All tokens."""
        return self.prompt + self.completion

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt + other.prompt,
            self.cached + other.cached,
            self.completion + other.completion,
            self.reasoning + other.reasoning,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True)
class Reply:
    """A model's answer.

    :param text: Its text; may be empty.
    :param tool_calls: The calls it wants made.
    :param finish: Why it ended; ``length`` means cut off, ``refusal`` that the model or a filter declined.
    :param usage: Its tokens, those of broken tries included.
    :param tries: How often the request was sent.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    usage: Usage = field(default_factory=Usage)
    tries: int = 1

    def message(self) -> Message:
        """Returns the answer as a message of the conversation."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.tool_calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in self.tool_calls
            ]
        return message


class ChatModel(Protocol):
    """Whoever answers a request."""

    def complete(self, request: Request) -> Reply:
        """Answer a request.

        :param request: The request.
        :returns: The answer.
        :raises LLMError: If there is none.
        """
        ...


def estimated_tokens(text: str) -> int:
    """Returns about how many tokens a text has."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def well_formed(text: str) -> str:
    """Returns the text with surrogate pairs joined, which streams may cut apart, and half ones replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
