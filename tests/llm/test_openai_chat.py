"""The client gets an answer out of any endpoint that has one to give, and says plainly when there is none."""

import email.utils
import time

import pytest

from autoindex_haystack.llm import ContextTooLong, Denied, EndpointError, LimitReached, LLMError, Schema, Tool, Usage
from autoindex_haystack.llm.connect import ModelOptions, connect
from tests.chat_server import Answer, ChatServer

TOOL = Tool("look", "Looks.", {"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]})
SCHEMA = Schema("ideas", {"type": "object", "properties": {}, "required": [], "additionalProperties": False})
USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 50,
    "total_tokens": 150,
    "prompt_tokens_details": {"cached_tokens": 80},
    "completion_tokens_details": {"reasoning_tokens": 30},
}

both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@both_ways
@pytest.mark.parametrize("text", ["Good day.", "", "zwölf ☃ \ud83d\ude00" * 30])
def test_text_comes_back_whole_with_its_usage(client, ask, stream, text):
    with ChatServer([Answer(text, usage=USAGE)]) as server:
        reply = client(server, stream=stream).complete(ask())
    assert reply.text == text.encode("utf-16", "surrogatepass").decode("utf-16")
    assert (reply.finish, reply.tool_calls, reply.tries) == ("stop", (), 1)
    assert reply.usage == Usage(prompt=100, cached=80, completion=50, reasoning=30)


@both_ways
def test_parallel_tool_calls_come_back_in_order_and_can_be_answered(client, ask, stream):
    calls = [("look", {"where": "here"}), ("look", {"where": "there"}), ("nothing", "not JSON {")]
    with ChatServer([Answer("Let me see.", calls=calls)]) as server:
        reply = client(server, stream=stream).complete(ask(tools=[TOOL]))
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [
        ("call_0", "look", '{"where": "here"}'),
        ("call_1", "look", '{"where": "there"}'),
        ("call_2", "nothing", "not JSON {"),
    ]
    assert reply.finish == "tool_calls"
    assert reply.message()["tool_calls"][1]["function"]["arguments"] == '{"where": "there"}'
    assert server.requests[0]["tools"][0]["function"]["name"] == "look"


@both_ways
@pytest.mark.parametrize(
    ("answer", "finish"),
    [
        (Answer("half of a", finish="length"), "length"),
        (Answer("", refusal="I will not."), "refusal"),
        (Answer("", finish="content_filter"), "refusal"),
    ],
)
def test_truncation_and_refusal_are_told_apart(client, ask, stream, answer, finish):
    with ChatServer([answer]) as server:
        reply = client(server, stream=stream).complete(ask())
    assert reply.finish == finish
    assert reply.text == (answer.refusal or answer.text)


@both_ways
@pytest.mark.parametrize(
    "trouble",
    [
        Answer("slow down", status=429, headers={"retry-after": "0"}),
        Answer("slow down", status=429, headers={"retry-after": email.utils.formatdate(0, usegmt=True)}),
        Answer("oh", status=500),
        Answer("busy", status=503),
        Answer(raw="<html>gateway</html>", status=502),
        Answer("Good day.", cut=0),
        Answer("Good day.", cut=40),
        Answer(raw='{"half": '),
        Answer(raw='"nonsense"'),
        Answer(raw='{"choices": []}'),
        Answer(raw='{"choices": [{"message": {"content": 7}, "finish_reason": "stop"}]}'),
    ],
    ids=lambda answer: f"{answer.status}-{answer.cut}-{answer.raw}",
)
def test_passing_trouble_is_tried_again(client, ask, stream, trouble):
    with ChatServer([trouble, trouble, Answer("There you are.")]) as server:
        reply = client(server, stream=stream).complete(ask())
    assert (reply.text, reply.tries, len(server.requests)) == ("There you are.", 3, 3)


def test_what_came_of_a_broken_stream_is_accounted(client, ask):
    with ChatServer([Answer("word " * 100, cut=3000), Answer("All of it.", usage=USAGE)]) as server:
        reply = client(server, stream=True).complete(ask())
    assert reply.usage.estimated
    assert reply.usage.completion > USAGE["completion_tokens"]


@both_ways
def test_a_slow_answer_is_given_up_and_tried_again(client, ask, stream):
    with ChatServer([Answer("late", wait=1.0), Answer("in time")]) as server:
        assert client(server, stream=stream, timeout=0.2).complete(ask()).text == "in time"


def test_the_endpoint_says_how_long_to_wait(client, ask):
    with ChatServer([Answer("slow down", status=429, headers={"retry-after": "0.4"}), Answer("yes")]) as server:
        began = time.monotonic()
        client(server).complete(ask())
    assert time.monotonic() - began >= 0.4


@pytest.mark.parametrize(
    ("answer", "kind", "tries", "parts"),
    [
        (Answer("wrong key", status=401), Denied, 1, ["401", "wrong key", "--api-key-env"]),
        (Answer("no such model", status=404), Denied, 1, ["404", "--model"]),
        (Answer("quota", status=429, code="insufficient_quota"), Denied, 1, ["quota"]),
        (Answer("later", status=429, headers={"retry-after": "9000"}), Denied, 1, ["429"]),
        (Answer("odd request", status=400), Denied, 1, ["400", "odd request"]),
        (Answer("broken", status=500), EndpointError, 6, ["500", "6 times"]),
        (Answer(raw="[]"), EndpointError, 6, ["no chat completion"]),
        (Answer("maximum context length is 8", status=400), ContextTooLong, 1, ["too long"]),
        (Answer("exceed_context_size_error: context size", status=400), ContextTooLong, 1, ["too long"]),
    ],
)
def test_lasting_trouble_is_one_sentence(client, ask, answer, kind, tries, parts):
    with ChatServer([answer]) as server, pytest.raises(kind) as caught:
        client(server).complete(ask())
    assert len(server.requests) == tries
    for part in parts:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nobody_there_is_one_sentence(client, ask):
    with ChatServer([Answer()]) as server:
        pass
    with pytest.raises(EndpointError, match=r"cannot be reached.*--base-url"):
        client(server).complete(ask())


@pytest.mark.parametrize(
    ("refused", "message", "status"),
    [
        ("response_format", "response_format: json_schema is not supported here", 400),
        ("response_format", "1 validation error: {'loc': ('body', 'response_format', 'type')}", 500),
        ("temperature", "Unsupported value: 'temperature' does not support 0.3 with this model.", 400),
        ("tools", '"auto" tool choice requires --enable-auto-tool-choice', 422),
    ],
)
def test_an_endpoint_that_lacks_a_feature_is_asked_without_it(client, ask, refused, message, status):
    def script(request, _):
        return Answer(message, status=status) if refused in request else Answer("fine")

    with ChatServer(script) as server:
        model = client(server, temperature=0.3)
        for _ in range(2):
            assert model.complete(ask(tools=[TOOL], schema=SCHEMA)).text == "fine"
    assert [refused in request for request in server.requests] == [True, False, False]


@pytest.mark.parametrize("known", ["max_tokens", "max_completion_tokens"])
def test_the_longest_answer_is_given_under_the_name_that_the_endpoint_knows(client, ask, known):
    other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[known]

    def script(request, _):
        if other in request:
            return Answer(f"Unsupported parameter: '{other}'. Use '{known}' instead.", status=400, param=other)
        return Answer("fine")

    with ChatServer(script) as server:
        client(server).complete(ask(max_tokens=77))
    assert server.requests[-1][known] == 77


def test_no_wait_outlasts_the_time_limit(client, ask):
    with ChatServer([Answer("slow down", status=429, headers={"retry-after": "30"})]) as server:
        with pytest.raises(LimitReached, match=rf"time limit ends before .* \({server.url} answered 429 \(slow down\)"):
            client(server).complete(ask(seconds=5))
        assert len(server.requests) == 1


def test_usage_is_estimated_where_the_endpoint_does_not_count(client, ask):
    with ChatServer([Answer("12345678", usage={})]) as server:
        usage = client(server).complete(ask("x" * 400)).usage
    assert usage.estimated
    assert usage.completion == 2
    assert 100 <= usage.prompt <= 150


def test_an_endpoint_without_http_is_refused_before_anything_is_sent(tmp_path):
    with pytest.raises(LLMError, match="localhost:9 is no address of an endpoint; write it with http://"):
        connect(ModelOptions(model="m", base_url="localhost:9"), tmp_path / "exchanges.jsonl")
