"""Any Haystack chat generator in the client's place."""

import inspect
import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from autoindex_haystack.llm.errors import CONTEXT_WORDS, ContextTooLong, EndpointError, LLMError
from autoindex_haystack.llm.redaction import plain_secrets
from autoindex_haystack.llm.types import Finish, Reply, Request, ToolCall, Usage, estimated_tokens, well_formed

_FINISH: dict[Any, Finish] = {"length": "length", "content_filter": "refusal"}


class HaystackChat:
    """A Haystack chat generator as a model. Its own settings hold; only messages and tools are given to it.

    :param generator: The generator: a component with ``run(messages=…)`` that returns ``replies``.
    :param settings: What its file says, where secrets may stand in plain.
    """

    def __init__(self, generator: Any, settings: Any = None) -> None:
        self._generator = generator
        self._settings = settings
        self._takes_tools = "tools" in inspect.signature(generator.run).parameters
        self._warm = False

    @classmethod
    def load(cls, path: Path) -> "HaystackChat":
        """Read a generator from a YAML file.

        :param path: The file: ``type`` and ``init_parameters``, as a component stands in a pipeline's YAML.
        :returns: The model.
        :raises LLMError: If the file describes no chat generator.
        """
        import yaml
        from haystack.core.errors import DeserializationError
        from haystack.core.serialization import component_from_dict, import_class_by_name

        try:
            found = yaml.safe_load(path.read_text(encoding="utf-8"))
            settings = deepcopy(found)  # What is loaded is changed by that.
            data = {"init_parameters": {}, **found}
            generator = component_from_dict(import_class_by_name(data["type"]), data, "generator")
            taken = inspect.signature(generator.run).parameters
        except (
            OSError,
            yaml.YAMLError,
            DeserializationError,
            ImportError,
            ValueError,
            TypeError,
            LookupError,
        ) as error:
            msg = (
                f"{path} describes no Haystack chat generator ({str(error) or type(error).__name__}); give `type` and "
                "`init_parameters` as for a component in a pipeline's YAML"
            )
            raise LLMError(msg) from None
        if "messages" not in taken:
            msg = f"{path}: {data['type']} takes no `messages`; give a chat generator"
            raise LLMError(msg)
        return cls(generator, settings)

    @property
    def name(self) -> str:
        """The model's name, or the generator's class."""
        return str(getattr(self._generator, "model", None) or type(self._generator).__name__)

    def secrets(self) -> list[str]:
        """Returns the secrets that the generator holds, to be kept out of what is written."""
        return [*_held(self._generator, set()), *plain_secrets(self._settings)]

    def complete(self, request: Request) -> Reply:
        """Answer a request; see :class:`autoindex_haystack.llm.ChatModel`."""
        from haystack.dataclasses import ChatMessage

        given: dict[str, Any] = {"messages": [ChatMessage.from_openai_dict_format(dict(m)) for m in request.messages]}
        if request.tools and self._takes_tools:
            given["tools"] = _tools(request)
        try:
            if not self._warm and hasattr(self._generator, "warm_up"):
                self._generator.warm_up()
            self._warm = True
            replies: Sequence[ChatMessage] = self._generator.run(**given)["replies"]
            reply = replies[0]
        except Exception as error:  # Every generator has errors of its own.
            said = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            msg = f"the generator {type(self._generator).__name__} failed ({said}); check the file given to --generator"
            too_long = any(words in str(error).lower() for words in CONTEXT_WORDS)
            raise (ContextTooLong if too_long else EndpointError)(msg) from None
        calls = tuple(
            ToolCall(call.id or f"call_{i}", call.tool_name, json.dumps(call.arguments))
            for i, call in enumerate(reply.tool_calls)
        )
        text = well_formed(reply.text or "")
        finish = _FINISH.get(reply.meta.get("finish_reason"), "tool_calls" if calls else "stop")
        return Reply(text, calls, finish, _usage(reply.meta.get("usage"), text, request))


def _held(value: Any, seen: set[int]) -> Iterator[str]:
    """The secrets within a component, and within components and collections that it holds."""
    from haystack.utils import Secret

    if id(value) in seen:
        return
    seen.add(id(value))
    match value:
        case Secret():
            if key := _resolved(value):
                yield key
        case dict():
            for part in value.values():
                yield from _held(part, seen)
        case list() | tuple():
            for part in value:
                yield from _held(part, seen)
        case _ if hasattr(value, "__haystack_input__"):
            for part in vars(value).values():
                yield from _held(part, seen)


def _resolved(secret: Any) -> str | None:
    try:
        value = secret.resolve_value()
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _tools(request: Request) -> list[Any]:
    from haystack.tools.tool import Tool

    def never() -> None:
        """The agents call tools themselves."""

    return [
        Tool(name=tool.name, description=tool.description, parameters=dict(tool.parameters), function=never)
        for tool in request.tools
    ]


def _usage(usage: Any, text: str, request: Request) -> Usage:
    """Read the usage as OpenAI's and most other generators report it."""
    if not isinstance(usage, dict):
        usage = {}
    prompt = usage.get("prompt_tokens", usage.get("input_tokens"))
    completion = usage.get("completion_tokens", usage.get("output_tokens"))
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return Usage(request.estimated_tokens(), 0, estimated_tokens(text), 0, estimated=True)
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    reasoning = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
    return Usage(prompt, cached, completion, reasoning)
