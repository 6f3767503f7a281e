"""What an endpoint's errors mean: whether to try again, what to leave out of a request, what to tell the user."""

import email.utils
import time
from typing import Any, cast

from autoindex_haystack.llm.errors import Denied, EndpointError, LLMError, Unreadable

LONGEST_WAIT = 60.0
"""Seconds; an endpoint that asks to be left alone for longer is given up."""

_OPTIONAL = {
    "response_format": ("response_format", "json_schema", "structured output"),
    "stream_options": ("stream_options",),
    "temperature": ("temperature",),
    "max_completion_tokens": ("max_completion_tokens",),
    "max_tokens": ("max_tokens",),
    "tool_choice": ("tool_choice",),
    "tools": ("tools", "tool_choice", "tool choice", "function call"),
}
"""Parameters that a request can do without, with the words by which endpoints refuse them."""


class Broken(Exception):
    """An answer that came in pieces or makes no sense; worth another try.

    :param message: What was wrong.
    :param received: Characters of the answer that had come, and were probably charged.
    :param whole: Whether all of it came, so that it is the endpoint that makes no sense.
    """

    def __init__(self, message: str, received: int = 0, *, whole: bool = False) -> None:
        super().__init__(message)
        self.received = received
        self.whole = whole


def is_transient(error: BaseException) -> bool:
    """Returns whether it is worth to send a request again after this error."""
    import openai

    if isinstance(error, Broken | openai.APIConnectionError):
        return True
    if isinstance(error, openai.APIStatusError):
        if error.code == "insufficient_quota" or (retry_after(error) or 0.0) > LONGEST_WAIT:
            return False
        return error.status_code in (408, 409, 425, 429) or error.status_code >= 500
    return False


def retry_after(error: BaseException | None) -> float | None:
    """Returns the seconds that the endpoint asks to wait, which it says as a number or a date; None if it does not."""
    response = getattr(error, "response", None)
    if response is None or not (value := response.headers.get("retry-after")):
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        try:
            return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
        except ValueError:
            return None


def refused_parameter(error: Any, parameters: dict[str, Any]) -> str | None:
    """Find the parameter that an endpoint refuses, if a request can do without it.

    :param error: The error, an ``openai.APIStatusError``.
    :param parameters: What was sent.
    :returns: The parameter's name; None when it is about something else.
    """
    if error.param and (name := str(error.param).split(".")[0].split("[")[0]) in _OPTIONAL and name in parameters:
        return name
    said = said_by(error).lower()
    return next(
        (name for name, words in _OPTIONAL.items() if name in parameters and any(w in said for w in words)), None
    )


def said_by(error: Any) -> str:
    """Returns what an endpoint says of an error, on one line and not too long."""
    body = error.body
    said = body.get("message") if isinstance(body, dict) else None
    return " ".join(str(said or error.message).split())[:300]


def explained(error: Exception, address: str, tries: int) -> LLMError:
    """Say in a sentence what went wrong and what to do.

    :param error: The error of the last try.
    :param address: The endpoint.
    :param tries: How often it was asked.
    :returns: The error to raise.
    """
    import httpx2
    import openai

    if isinstance(error, openai.APIStatusError):
        said = f"{address} answered {error.status_code} ({said_by(error)})"
        if is_transient(error) or error.status_code >= 500:
            return EndpointError(f"{said} {tries} times; try again later")
        advice = {
            401: "check the key in the environment variable that --api-key-env names",
            403: "check what the key may do",
            404: "check --model and --base-url",
            429: "check the account's quota",
        }.get(error.status_code, "check --model and --base-url")
        return Denied(f"{said}; {advice}")
    if isinstance(error, openai.APITimeoutError):
        return EndpointError(
            f"{address} did not answer in time ({tries} tries); try again later or raise --llm-timeout"
        )
    if isinstance(error, openai.APIConnectionError):
        reason = f" ({cast('Any', error.__cause__)})" if error.__cause__ else ""
        happened = "cannot be reached" if isinstance(error.__cause__, httpx2.ConnectError) else "breaks connections off"
        return EndpointError(f"{address} {happened}{reason}; check --base-url")
    kind = Unreadable if isinstance(error, Broken) and error.whole else EndpointError
    return kind(f"{address}: {error} ({tries} tries); check that it speaks the chat completions protocol")
