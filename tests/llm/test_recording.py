"""Exchanges are kept without secrets before they are used, and a recording answers in the place of a model."""

import json
import logging
import traceback

import pytest

from autoindex_haystack.llm import (
    Call,
    ContextTooLong,
    EndpointError,
    Ledger,
    Limited,
    LimitReached,
    Limits,
    LLMError,
    Price,
    Recorded,
    Redactor,
    ReplayError,
    Reply,
    ToolCall,
    Usage,
    read_prices,
)
from tests.chat_server import Answer, ChatServer
from tests.llm.conftest import chained

KEY = "canary-key-0123456789"


class Fixed:
    """A model that gives what it was given, one after the other."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.requests = []

    def complete(self, request):
        self.requests.append(request)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


REPLY = Reply("zwölf \u2028", (ToolCall("1", "look", '{"a": 1}'),), "tool_calls", Usage(10, 4, 6, 2), 3)


def test_a_replay_gives_the_same_without_a_model(tmp_path, ask):
    recorded = Recorded(Fixed(REPLY, ContextTooLong("too long"), Reply("end")), tmp_path / "a")
    assert recorded.complete(ask(label="1")) == REPLY
    with pytest.raises(ContextTooLong):
        recorded.complete(ask(label="2"))
    recorded.complete(ask(label="3"))
    assert recorded.remember("found", lambda: {"lines": ["x"]}) == {"lines": ["x"]}

    replayed = Recorded(None, tmp_path / "b", source=tmp_path / "a")
    # Labels say what a call is for, so the order does not matter.
    assert replayed.complete(ask(label="3")).text == "end"
    assert replayed.remember("found", lambda: pytest.fail("looked up again")) == {"lines": ["x"]}
    assert replayed.complete(ask(label="1")) == REPLY
    with pytest.raises(ContextTooLong, match="too long"):
        replayed.complete(ask(label="2"))
    assert replayed.ledger.totals.usage == recorded.ledger.totals.usage
    assert sorted((tmp_path / "a").read_text().splitlines()) == sorted((tmp_path / "b").read_text().splitlines())
    assert replayed.changed == []


def test_a_replay_tells_what_it_lacks_and_what_was_asked_otherwise(tmp_path, ask):
    recorded = Recorded(Fixed(REPLY, REPLY), tmp_path / "a")
    recorded.complete(ask("one", label="1"))
    recorded.complete(ask("two", label="2"))
    replayed = Recorded(None, tmp_path / "b", source=tmp_path / "a")
    assert replayed.complete(ask("another", label="1")) == REPLY
    assert replayed.changed == ["1"]
    with pytest.raises(ReplayError, match="'3'"):
        replayed.complete(ask("three", label="3"))


def test_what_is_not_recorded_is_asked_and_the_recording_goes_on(tmp_path, ask):
    Recorded(Fixed(REPLY), tmp_path / "a").complete(ask(label="1"))
    with (tmp_path / "a").open("ab") as file:
        file.write(b'{"label": "2", "rep')  # The machine stopped while this was written.
    model = Fixed(Reply("new"))
    recorded = Recorded(model, tmp_path / "b", source=tmp_path / "a")
    assert recorded.complete(ask(label="1")) == REPLY
    assert recorded.complete(ask(label="2")).text == "new"
    assert [request.label for request in model.requests] == ["2"]


def test_a_damaged_recording_names_the_line(tmp_path):
    (tmp_path / "a").write_text('{"label": "1"}\n{"label": \n{"label": "3"}\n')
    with pytest.raises(ReplayError, match="line 2"):
        Recorded(None, tmp_path / "b", source=tmp_path / "a")
    with pytest.raises(ReplayError, match="cannot be read"):
        Recorded(None, tmp_path / "b", source=tmp_path / "missing")


def test_secrets_are_in_no_file_no_reply_no_log_and_no_error(tmp_path, ask, client, caplog):
    """An endpoint that repeats the key wherever it can."""
    caplog.set_level(logging.DEBUG)
    odd = 'odd"key\\0123456789'
    answers = [
        Answer(f"your key is {KEY}", calls=[("look", {"where": KEY, "odd": odd})]),
        Answer(f"wrong key {KEY}", status=401),
    ]
    with ChatServer(answers) as server:
        recorded = Recorded(client(server), tmp_path / "a", redactor=Redactor([KEY, odd, "none"]))
        reply = recorded.complete(ask(f"a document that holds {KEY}, none else", label="1"))
        with pytest.raises(LLMError) as caught:
            recorded.complete(ask(label="2"))
        assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    kept = (tmp_path / "a").read_text()
    for text in (kept, reply.text, str(reply.tool_calls), str(caught.value)):
        assert KEY not in text
    assert "0123456789" not in json.loads(reply.tool_calls[0].arguments)["odd"]
    assert "none else" in kept
    assert KEY not in "".join([*chained(caught.value), *traceback.format_exception(caught.value)])
    # Whatever logs are asked for; the HTTP client's have the request's address and headers.
    assert caplog.records
    assert not [record for record in caplog.records if KEY in f"{record.getMessage()} {record.args} {vars(record)}"]


def recorded_call(ledger, usage):
    ledger.add(Call("analysis", usage, 1.5))


@pytest.mark.parametrize(
    ("limits", "spent"),
    [
        (Limits(tokens=1000), Usage(900, 0, 60)),
        (Limits(usd=1.0), Usage(100_000, 0, 100_000)),
        (Limits(seconds=0), Usage()),
    ],
)
def test_no_call_is_made_beyond_a_limit(limits, spent, ask):
    ledger = Ledger(Price(input=1, output=9))
    model = Fixed(REPLY)
    if spent.total:
        recorded_call(ledger, spent)
    with pytest.raises(LimitReached, match="--max-"):
        Limited(model, limits, ledger).complete(ask())
    assert model.requests == []


def test_an_answer_may_be_as_long_as_the_limits_leave_room_for(ask):
    ledger = Ledger(Price(input=0, output=10))
    model = Fixed(REPLY, REPLY)
    Limited(model, Limits(usd=0.01), ledger).complete(ask())
    assert model.requests[0].max_tokens == 1000
    Limited(model, Limits(tokens=500), ledger).complete(ask())
    assert model.requests[1].max_tokens == 500 - ask().estimated_tokens()


def test_accounts_are_kept_by_role(ask):
    ledger = Ledger(Price(input=1, output=2, cached_input=0.5))
    recorded_call(ledger, Usage(100, 40, 50, 20))
    recorded_call(ledger, Usage(10, 0, 5, 0, estimated=True))
    found = ledger.as_json()
    assert found["tokens"] == 165
    assert found["by_role"]["analysis"]["reasoning_tokens"] == 20
    assert found["usd"] == pytest.approx((70 * 1 + 40 * 0.5 + 55 * 2) / 1e6)
    assert found["estimated"] is True


def test_price_tables_are_checked(tmp_path):
    (tmp_path / "good.yaml").write_text("a-model: {input: 0.2, output: 0.8}\n")
    assert read_prices(tmp_path / "good.yaml")["a-model"].output == 0.8
    for text in ("a-model: {input: -1, output: 1}", "a-model: 3", "[", "- a"):
        (tmp_path / "bad.yaml").write_text(text)
        with pytest.raises(LLMError, match="price table"):
            read_prices(tmp_path / "bad.yaml")


def test_an_error_is_recorded_as_what_it_was(tmp_path, ask):
    recorded = Recorded(Fixed(EndpointError("gone")), tmp_path / "a")
    with pytest.raises(EndpointError, match="gone"):
        recorded.complete(ask())
