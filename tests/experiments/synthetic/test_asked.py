"""A language model asks: a scripted server, asked through the real client and the command line."""

import json

import pytest

from autoindex_haystack.cli.main import main
from autoindex_haystack.collection import Document, load_collection
from autoindex_haystack.experiments.synthetic.asked import STYLES, copied_phrase
from tests.chat_server import Answer, ChatServer

TEXT = (
    "The tea plant grows on hills where mornings are cool. Its leaves are picked by hand, withered, rolled and dried. "
    "Black tea is oxidized for hours, green tea is not. Water just below boiling keeps bitter notes away."
)


@pytest.fixture
def corpus(tmp_path):
    lines = [json.dumps({"_id": f"d{i}", "title": f"Tea {i}", "text": f"Garden number {i}. {TEXT}"}) for i in range(9)]
    lines.append(json.dumps({"_id": "short", "text": "Too short to be asked about."}))
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    return tmp_path / "corpus.jsonl"


def run(corpus, server, *more):
    out = corpus.parent / "made"
    model = ["--model", "scripted", "--base-url", server.url]
    code = main(["make-queries", str(corpus), "--out", str(out), "--number", "5", *model, *more])
    return code, out


def said(request):
    return request["messages"][-1]["content"]


def is_check(request):
    return said(request).startswith("Does the document")


def good(request, number):
    if is_check(request):
        return Answer('{"answer": "below boiling", "answered": true}')
    return Answer(f'Sure!\n```json\n{{"query": "how hot should number {number} be for green leaves"}}\n```')


def test_queries_are_kept_when_a_second_call_answers_them(corpus, capsys):
    with ChatServer(good) as server:
        code, out = run(corpus, server)
        asked = [request for request in server.requests if not is_check(request)]
    assert code == 0, capsys.readouterr().err
    collection = load_collection(out)
    assert len(collection.queries) == 5
    assert "synthetic" in collection.notes()[0]
    assert "scripted" in collection.notes()[0]
    assert all(len(grades) == 1 and "short" not in grades for grades in collection.qrels.values())
    assert [style for request in asked for style in STYLES if style in said(request)] == [*STYLES, STYLES[0]]
    assert len(server.requests) == 10


def test_what_the_document_does_not_answer_is_given_up(corpus):
    def script(request, number):
        if is_check(request):
            return Answer(
                '{"answer": "", "answered": false}' if number % 4 == 1 else '{"answer": "x", "answered": true}'
            )
        return good(request, number)

    with ChatServer(script) as server:
        code, out = run(corpus, server)
    assert code == 0
    # Of nine documents each second one answers.
    assert len(load_collection(out).queries) == 4
    assert "5 that it did not answer" in (out / "README.md").read_text()


def test_a_query_that_copies_is_asked_for_once_more_and_then_given_up(corpus, capsys):
    def script(request, number):
        if is_check(request):
            return Answer('{"answer": "x", "answered": true}')
        if "Your last try copied: water just below boiling" in said(request):
            return Answer(json.dumps({"query": f"heat for brewing, number {number}"}))
        return Answer('{"query": "is water just below boiling good"}')

    with ChatServer(script) as server:
        code, out = run(corpus, server)
    assert code == 0
    assert all(text.startswith("heat for brewing") for text in load_collection(out).queries.values())
    with ChatServer([Answer('{"query": "water just below boiling"}')]) as server:
        code, _ = run(corpus, server, "--force")
    assert code == 2
    assert "9 copied their document" in capsys.readouterr().err


def test_a_limit_ends_the_asking_and_keeps_what_is_there(corpus, capsys):
    with ChatServer(good) as server:
        code, out = run(corpus, server, "--max-tokens-total", "1800")
    assert code == 0
    assert 0 < len(load_collection(out).queries) < 5
    assert "not asked to the end: " in capsys.readouterr().err


def test_a_model_that_cannot_be_asked_leaves_nothing(corpus, capsys):
    with ChatServer([Answer("no such key", status=401)]) as server:
        code, out = run(corpus, server)
    assert code == 2
    assert not out.exists()
    assert main(["make-queries", str(corpus), "--out", str(out), "--base-url", "http://127.0.0.1:1/v1"]) == 2
    assert "--base-url goes with --model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("query", "copied"),
    [
        ("Is Water just below boiling, right?", "water just below boiling"),
        ("below boiling water", ""),
        ("all about tea leaves in gardens", ""),
        ("the tea plant grows on hills", "the tea plant grows on hills"),
    ],
)
def test_copied_rows_of_words_are_found(query, copied):
    assert copied_phrase(query, Document("d", TEXT, {"title": "All about tea"})) == copied
