"""A conversation that keeps within its room by cutting old results of tools, and then old words of the model."""

from collections.abc import Sequence
from typing import Any

from autoindex_haystack.llm import Message, Reply
from autoindex_haystack.llm.types import estimated_tokens
from autoindex_haystack.proposers.agents.cutting import cut

_KEPT = 100
"""Characters of an old result that are kept."""

_NOTE = " (cut to save room; ask again if you need it)"


class Conversation:
    """Messages to and from a model.

    :param system: The instructions.
    :param user: The first message.
    :param room: Tokens that all messages may have, as estimated.
    """

    def __init__(self, system: str, user: str, room: int) -> None:
        self._messages: list[dict[str, Any]] = [
            {"role": "system", "content": system},
            {"role": "user", "content": user},
        ]
        self._room = room

    @property
    def messages(self) -> Sequence[Message]:
        """The messages, as they are sent."""
        return [dict(message) for message in self._messages]

    def say(self, text: str) -> None:
        """Add a message of ours."""
        self._messages.append({"role": "user", "content": text})

    def hear(self, reply: Reply) -> None:
        """Add the model's answer."""
        self._messages.append(dict(reply.message()))

    def tell(self, call_id: str, result: str) -> None:
        """Add the result of a tool."""
        self._messages.append({"role": "tool", "tool_call_id": call_id, "content": result})

    def make_room(self) -> None:
        """Cut the oldest results until the messages fit, then what the model said; the latest of each stay whole."""
        results, said = ([m for m in self._messages if m["role"] == role][:-1] for role in ("tool", "assistant"))
        for message in [*results, *said]:
            if self._tokens() <= self._room:
                return
            if len(message["content"]) > _KEPT + len(_NOTE):
                message["content"] = cut(message["content"], _KEPT) + _NOTE

    def shrink(self) -> bool:
        """Halve the room, because the model has less than was thought.

        :returns: Whether anything could be cut.
        """
        before = self._tokens()
        self._room = min(self._room, before) // 2
        self.make_room()
        for message in self._messages:
            if self._tokens() > self._room and message["role"] == "tool":
                message["content"] = cut(message["content"], _KEPT)
        return self._tokens() < before

    def _tokens(self) -> int:
        return sum(
            estimated_tokens(f"{message['content']}{message.get('tool_calls', '')}") for message in self._messages
        )
