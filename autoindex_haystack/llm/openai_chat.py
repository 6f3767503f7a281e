"""The client of any OpenAI-compatible endpoint, through the ``openai`` package.

Endpoints differ in what they accept. What one refuses by name (a JSON schema, a temperature, a limit under one of its
two names) is left out from then on, and the request is sent again.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from autoindex_haystack.llm.errors import CONTEXT_WORDS, ContextTooLong, LimitReached, LLMError
from autoindex_haystack.llm.openai_errors import (
    LONGEST_WAIT,
    Broken,
    explained,
    is_transient,
    refused_parameter,
    retry_after,
    said_by,
)
from autoindex_haystack.llm.types import Finish, Reply, Request, ToolCall, Usage, estimated_tokens, well_formed

if TYPE_CHECKING:
    from openai import OpenAI
    from tenacity import RetryCallState

TRIES = 6
"""How often a request is sent before it is given up."""

_TRIES_UNHEARD = 3
"""The same for an endpoint that cannot be connected to and never could: most likely its address is wrong."""

_FINISH: dict[str | None, Finish] = {"length": "length", "content_filter": "refusal"}


class OpenAIChat:
    """A model behind an OpenAI-compatible endpoint.

    :param model: The model's name.
    :param base_url: The endpoint; the ``openai`` package's own default when not given.
    :param api_key: The key.
    :param temperature: The sampling temperature.
    :param stream: Receive answers piece by piece, for endpoints behind something that closes quiet connections.
    :param timeout: Seconds without a sign of life after which a try is given up.
    :param backoff: Seconds before the second try; doubled for each further one, unless the endpoint says how long.

    ```python
    from autoindex_haystack.llm.openai_chat import OpenAIChat

    model = OpenAIChat("qwen3-coder", base_url="http://localhost:8000/v1", api_key="none")
    ```
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str,
        temperature: float = 1.0,
        stream: bool = False,
        timeout: float = 300.0,
        backoff: float = 1.0,
    ) -> None:
        self.model = model
        self._base_url = base_url
        self._api_key = api_key
        self._temperature = temperature
        self._stream = stream
        self._timeout = timeout
        self._backoff = backoff
        # OpenAI's own models want the new name, most other endpoints know the old one.
        self._left_out = {"max_tokens" if base_url is None else "max_completion_tokens"}
        self._client: OpenAI | None = None
        self._heard = False

    def complete(self, request: Request) -> Reply:
        """Answer a request; see :class:`autoindex_haystack.llm.ChatModel`."""
        import openai
        from tenacity import Retrying, retry_if_exception

        deadline = time.monotonic() + request.seconds if request.seconds is not None else None
        lost = Usage()
        tries = 0
        failed: Exception | None = None

        def once() -> Reply:
            nonlocal lost, tries, failed
            tries += 1
            try:
                return self._send(request, deadline)
            except (openai.OpenAIError, Broken) as error:
                failed = error
                if isinstance(error, Broken) and error.received:
                    received = -(-error.received // 4)
                    lost += Usage(prompt=request.estimated_tokens(), completion=received, estimated=True)
                raise

        retrying = Retrying(
            stop=self._stop,
            wait=self._wait,
            retry=retry_if_exception(is_transient),
            sleep=_sleep_until(deadline),
            reraise=True,
        )
        try:
            reply = retrying(once)
        except LimitReached as limit:
            before = f" ({explained(failed, self._address(), tries)})" if failed else ""
            msg = f"{limit}{before}"
            raise LimitReached(msg) from None
        except LLMError:
            raise
        except (openai.OpenAIError, Broken) as error:
            # The cause is left out: an endpoint may repeat the key in what it says.
            raise explained(error, self._address(), tries) from None
        self._heard = True
        return Reply(reply.text, reply.tool_calls, reply.finish, reply.usage + lost, tries)

    def _send(self, request: Request, deadline: float | None) -> Reply:
        """Send a request, without what the endpoint is found to refuse."""
        import openai

        while True:
            parameters = self._parameters(request)
            try:
                return self._receive(request, parameters, deadline)
            # Some servers answer 500 to a form of request that they do not know.
            except (openai.BadRequestError, openai.UnprocessableEntityError, openai.InternalServerError) as error:
                said = said_by(error).lower()
                if error.status_code < 500 and any(words in said for words in CONTEXT_WORDS):
                    msg = f"the messages are too long for the model's context ({said_by(error)})"
                    raise ContextTooLong(msg) from None
                refused = refused_parameter(error, parameters)
                if refused is None:
                    raise
                self._left_out.add(refused)
                other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}.get(refused)
                if other and other in said:
                    self._left_out.discard(other)

    def _parameters(self, request: Request) -> dict[str, Any]:
        given: dict[str, Any] = {
            "temperature": self._temperature,
            "max_tokens": request.max_tokens,
            "max_completion_tokens": request.max_tokens,
        }
        if request.tools:
            given["tools"] = [
                {
                    "type": "function",
                    "function": {"name": t.name, "description": t.description, "parameters": dict(t.parameters)},
                }
                for t in request.tools
            ]
            if not request.may_call:
                given["tool_choice"] = "none"
        if request.schema:
            form = {"name": request.schema.name, "schema": dict(request.schema.schema), "strict": True}
            given["response_format"] = {"type": "json_schema", "json_schema": form}
        if self._stream:
            given["stream_options"] = {"include_usage": True}
        if "tools" in self._left_out:
            given.pop("tool_choice", None)
        return {name: value for name, value in given.items() if name not in self._left_out}

    def _receive(self, request: Request, parameters: dict[str, Any], deadline: float | None) -> Reply:
        timeout = self._timeout
        if deadline is not None:
            timeout = max(0.1, min(timeout, deadline - time.monotonic()))
        create: Any = self._opened().chat.completions.create
        with _readable():
            answer = create(
                model=self.model, messages=list(request.messages), stream=self._stream, timeout=timeout, **parameters
            )
            choice, usage = _joined(answer, deadline) if self._stream else _whole(answer)
        return _reply(choice, usage, request)

    def _opened(self) -> "OpenAI":
        if self._client is None:
            from openai import OpenAI

            # Tries are counted here, so that limits hold for them.
            self._client = OpenAI(api_key=self._api_key, base_url=self._base_url, max_retries=0)
        return self._client

    def _address(self) -> str:
        from urllib.parse import urlsplit

        found = urlsplit(str(self._opened().base_url))
        # Without a user's name and password.
        return f"{found.scheme}://{found.hostname}{f':{found.port}' if found.port else ''}{found.path.rstrip('/')}"

    def _stop(self, state: "RetryCallState") -> bool:
        import openai

        error = state.outcome.exception() if state.outcome else None
        unheard = isinstance(error, openai.APIConnectionError) and not isinstance(error, openai.APITimeoutError)
        self._heard = self._heard or not unheard
        return state.attempt_number >= (TRIES if self._heard else _TRIES_UNHEARD)

    def _wait(self, state: "RetryCallState") -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = retry_after(error)
        return asked if asked is not None else min(LONGEST_WAIT, self._backoff * 2 ** (state.attempt_number - 1))


def _sleep_until(deadline: float | None) -> Callable[[float], None]:
    def sleep(seconds: float) -> None:
        if deadline is not None and time.monotonic() + seconds > deadline:
            msg = "the time limit ends before the endpoint may be asked again"
            raise LimitReached(msg)
        time.sleep(seconds)

    return sleep


@contextmanager
def _readable() -> Iterator[None]:
    """Turn what cannot be read as an answer into one kind of error."""
    import httpx2
    import openai

    try:
        yield
    except (openai.APIStatusError, openai.APIConnectionError, Broken, LLMError):
        raise
    except httpx2.HTTPError as error:
        msg = f"the connection broke ({type(error).__name__})"
        raise Broken(msg) from None
    except (ValueError, TypeError, AttributeError, KeyError, IndexError, openai.OpenAIError):
        msg = "the answer is no chat completion"
        raise Broken(msg, whole=True) from None


def _whole(answer: Any) -> tuple[Any, Any]:
    choice = answer.choices[0]
    return (
        {
            "text": _string(choice.message.content),
            "refusal": _string(getattr(choice.message, "refusal", None)),
            "calls": [
                [_string(call.id), _string(call.function.name), _string(call.function.arguments)]
                for call in choice.message.tool_calls or []
                if call.function
            ],
            "finish": choice.finish_reason,
        },
        answer.usage,
    )


def _joined(answer: Any, deadline: float | None) -> tuple[Any, Any]:
    """Join the pieces of a stream."""
    text, refusal, finish, usage = "", "", None, None
    calls: dict[int, list[str]] = {}
    try:
        for piece in answer:
            if deadline is not None and time.monotonic() > deadline:
                msg = "the time limit ended while the model was answering"
                raise LimitReached(msg)
            usage = piece.usage or usage
            for choice in piece.choices[:1]:
                text += _string(choice.delta.content)
                refusal += _string(getattr(choice.delta, "refusal", None))
                finish = choice.finish_reason or finish
                for part in choice.delta.tool_calls or []:
                    call = calls.setdefault(part.index, ["", "", ""])
                    call[0] = call[0] or _string(part.id)
                    if part.function:
                        call[1] += _string(part.function.name)
                        call[2] += _string(part.function.arguments)
    except LLMError:
        raise
    except Exception as error:  # However a stream breaks, what came of it was charged.
        msg = f"the stream broke off ({type(error).__name__})"
        raise Broken(msg, len(text)) from None
    finally:
        answer.close()
    if finish is None:
        msg = "the stream ended too early"
        raise Broken(msg, len(text), whole=not text)
    return {"text": text, "refusal": refusal, "calls": [calls[i] for i in sorted(calls)], "finish": finish}, usage


def _string(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        msg = f"a {type(value).__name__} where text belongs"
        raise TypeError(msg)
    return value


def _reply(choice: dict[str, Any], usage: Any, request: Request) -> Reply:
    calls = tuple(
        ToolCall(call_id or f"call_{i}", well_formed(name), well_formed(given))
        for i, (call_id, name, given) in enumerate(choice["calls"])
    )
    refused = bool(choice["refusal"])
    finish: Finish = "refusal" if refused else _FINISH.get(choice["finish"], "tool_calls" if calls else "stop")
    return Reply(well_formed(choice["text"] or choice["refusal"]), calls, finish, _usage(usage, choice, request))


def _usage(usage: Any, choice: dict[str, Any], request: Request) -> Usage:
    prompt, completion = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
    if not isinstance(prompt, int) or not isinstance(completion, int):
        answered = choice["text"] + "".join("".join(call) for call in choice["calls"])
        return Usage(request.estimated_tokens(), 0, estimated_tokens(answered), 0, estimated=True)
    cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
    reasoning = getattr(getattr(usage, "completion_tokens_details", None), "reasoning_tokens", None)
    return Usage(prompt, cached or 0, completion, reasoning or 0)
