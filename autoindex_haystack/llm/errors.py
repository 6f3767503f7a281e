"""What can go wrong between us and a language model."""

from autoindex_haystack.errors import AutoIndexError

CONTEXT_WORDS = (
    "context length",
    "context_length",
    "context window",
    "context size",
    "maximum context",
    "too many tokens",
)
"""By these words endpoints say that the messages are too long."""


class LLMError(AutoIndexError):
    """A language model gave no answer; the message says why and what to do."""


class EndpointError(LLMError):
    """The endpoint gave no usable answer, also after trying again."""

    exit_code = 1


class Unreadable(EndpointError):
    """The endpoint answers, but what it sends is no chat completion, also after trying again."""


class Denied(LLMError):
    """The endpoint refuses us: the key, the model's name or the request is wrong, and trying again does not help."""


class ContextTooLong(LLMError):
    """The messages do not fit the model's context."""

    exit_code = 1


class LimitReached(LLMError):
    """A limit that the user set on tokens, money or time allows no further call."""

    exit_code = 1


class ReplayError(LLMError):
    """A recorded run does not hold what is asked of it."""


class RecordingEnded(ReplayError):
    """A recorded run was over at this point."""
