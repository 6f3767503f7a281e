"""A client of a scripted server, impatient so that tests are quick."""

import pytest

from autoindex_haystack.llm import Request
from autoindex_haystack.llm.openai_chat import OpenAIChat

KEY = "canary-key-0123456789"


def chained(error):
    """What an error and all those behind it say, hidden ones too."""
    told = []
    while error is not None:
        told += [str(error), repr(error.args)]
        error = error.__cause__ or error.__context__
    return told


@pytest.fixture
def client():
    """Make a client of a server."""

    def make(server, **options):
        options = {"backoff": 0.001, "timeout": 5.0, "api_key": KEY, **options}
        return OpenAIChat("a-model", base_url=server.url, **options)

    return make


@pytest.fixture
def ask():
    """Make a request of one question."""

    def make(text="Hello?", label="1", **options):
        return Request(label, "code", [{"role": "user", "content": text}], **options)

    return make
