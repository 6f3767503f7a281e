"""Any Haystack chat generator can take the client's place."""

from dataclasses import replace

import pytest

from autoindex_haystack.llm import ContextTooLong, EndpointError, LLMError, Tool
from autoindex_haystack.llm.connect import ModelOptions, connect
from autoindex_haystack.llm.haystack_chat import HaystackChat
from tests.chat_server import Answer, ChatServer
from tests.llm.conftest import chained

TOOL = Tool("look", "Looks.", {"type": "object", "properties": {"where": {"type": "string"}}})

GENERATOR = """\
type: haystack.components.generators.chat.openai.OpenAIChatGenerator
init_parameters:
  model: a-model
  api_base_url: {url}
  max_retries: 0
  api_key: {{type: env_var, env_vars: [A_KEY], strict: true}}
"""


@pytest.fixture
def generator(tmp_path, monkeypatch):
    monkeypatch.setenv("A_KEY", "canary-key-0123456789")

    def make(server):
        (tmp_path / "generator.yaml").write_text(GENERATOR.format(url=server.url))
        return HaystackChat.load(tmp_path / "generator.yaml")

    return make


def test_a_generator_answers_with_tool_calls_and_usage(generator, ask):
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
    with ChatServer([Answer("See:", calls=[("look", {"where": "here"})], usage=usage), Answer("done")]) as server:
        model = generator(server)
        request = ask(tools=[TOOL])
        reply = model.complete(request)
        told = {"role": "tool", "tool_call_id": reply.tool_calls[0].id, "content": "nothing there"}
        again = model.complete(replace(request, messages=[*request.messages, reply.message(), told]))
    assert (reply.text, reply.tool_calls[0].arguments, reply.usage.total) == ("See:", '{"where": "here"}', 13)
    assert again.text == "done"
    assert server.requests[1]["messages"][-1]["content"] == "nothing there"
    assert model.name == "a-model"
    assert set(model.secrets()) >= {"canary-key-0123456789"}


NESTED = """\
type: haystack.components.generators.chat.fallback.FallbackChatGenerator
init_parameters:
  chat_generators:
  - type: haystack.components.generators.chat.openai.OpenAIChatGenerator
    init_parameters:
      model: a-model
      api_base_url: http://someone:canary-word-3@127.0.0.1:9/v1
      max_retries: 0
      api_key: {type: env_var, env_vars: [A_KEY], strict: true}
      generation_kwargs: {extra_headers: {Authorization: Bearer canary-key-2, x-api-key: canary-key-4}, max_tokens: 10}
"""


def test_secrets_are_found_wherever_a_generator_holds_them(tmp_path, monkeypatch, ask):
    monkeypatch.setenv("A_KEY", "canary-key-0123456789")
    (tmp_path / "generator.yaml").write_text(NESTED)
    recorded = connect(ModelOptions(generator=tmp_path / "generator.yaml"), tmp_path / "exchanges.jsonl")
    with pytest.raises(EndpointError, match="check the file given to --generator") as caught:
        recorded.complete(ask("canary-key-0123456789 canary-key-2 canary-word-3 canary-key-4 and words"))
    kept = (tmp_path / "exchanges.jsonl").read_text()
    assert "and words" in kept
    for text in (kept, *chained(caught.value)):
        assert "canary" not in text


def test_a_failing_generator_is_one_sentence(generator, ask):
    with ChatServer([Answer("oh", status=500)]) as server, pytest.raises(EndpointError, match="OpenAIChatGenerator"):
        generator(server).complete(ask())
    with ChatServer([Answer("maximum context is 9", status=400)]) as server, pytest.raises(ContextTooLong):
        generator(server).complete(ask())


@pytest.mark.parametrize(
    "text",
    [
        "type: os.system",
        "type: haystack.components.joiners.DocumentJoiner",
        "no type",
        "[",
        "type: haystack.components.generators.chat.openai.NoSuch",
        "type: haystack.components.generators.chat.openai.OpenAIChatGenerator\ninit_parameters: {unknown: 1}",
    ],
)
def test_a_file_that_describes_no_generator_is_refused(tmp_path, text):
    (tmp_path / "g.yaml").write_text(text)
    with pytest.raises(LLMError, match="chat generator"):
        HaystackChat.load(tmp_path / "g.yaml")
