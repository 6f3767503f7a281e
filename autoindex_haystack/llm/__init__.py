"""Language models: the client of any OpenAI-compatible endpoint, its limits and accounts, record and replay.

This room knows nothing of retrieval: it is given messages and returns replies.
"""

from autoindex_haystack.llm.accounts import Call, Ledger, Limits, Price, Totals, read_prices
from autoindex_haystack.llm.errors import (
    ContextTooLong,
    Denied,
    EndpointError,
    LimitReached,
    LLMError,
    ReplayError,
    Unreadable,
)
from autoindex_haystack.llm.limited import Limited
from autoindex_haystack.llm.recording import EXCHANGES, Recorded
from autoindex_haystack.llm.redaction import Redactor
from autoindex_haystack.llm.types import ChatModel, Message, Reply, Request, Schema, Tool, ToolCall, Usage

__all__ = [
    "EXCHANGES",
    "Call",
    "ChatModel",
    "ContextTooLong",
    "Denied",
    "EndpointError",
    "LLMError",
    "Ledger",
    "LimitReached",
    "Limited",
    "Limits",
    "Message",
    "Price",
    "Recorded",
    "Redactor",
    "ReplayError",
    "Reply",
    "Request",
    "Schema",
    "Tool",
    "ToolCall",
    "Totals",
    "Unreadable",
    "Usage",
    "read_prices",
]
