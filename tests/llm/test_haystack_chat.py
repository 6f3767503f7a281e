"""Any Haystack chat generator can take the client's place."""

from dataclasses import replace

import pytest

from autoindex_haystack.llm import EndpointError, LLMError, Tool
from autoindex_haystack.llm.haystack_chat import HaystackChat
from tests.chat_server import Answer, ChatServer

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
    assert model.secrets() == ["canary-key-0123456789"]


def test_a_failing_generator_is_one_sentence(generator, ask):
    with ChatServer([Answer("oh", status=500)]) as server, pytest.raises(EndpointError, match="OpenAIChatGenerator"):
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
