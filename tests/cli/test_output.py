"""What is printed: safe, short, in the right stream."""

import io
import json
import sys

import pytest

from autoindex_haystack.cli import output
from autoindex_haystack.cli.passage import passage
from autoindex_haystack.cli.text import one_line, printable, shortened


def test_control_characters_are_made_visible():
    assert printable("a\x1b[2Jb\nc\td") == "a\\x1b[2Jb\nc\td"
    assert printable("a\u202eb") == "a\\u202eb"
    assert printable("naïve 味噌 می\u200cخواهم") == "naïve 味噌 می\u200cخواهم"


def test_text_is_put_on_one_line_and_cut():
    assert one_line(" a\n b\r\n\tc ") == "a b c"
    assert shortened("a word or two", 100) == "a word or two"
    assert shortened("a word or two", 8) == "a word…"
    assert len(shortened("x" * 10_000_000, 50)) == 50


def test_json_is_plain_ascii_where_the_terminal_is(monkeypatch):
    for encoding, expected in (("utf-8", "é"), ("ascii", "\\u00e9")):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        output.print_json({"a": "é"})
        stream.seek(0)
        text = stream.read()
        assert expected in text
        assert json.loads(text) == {"a": "é"}


def test_a_number_that_is_no_json_is_never_printed():
    with pytest.raises(ValueError, match="JSON"):
        output.print_json({"a": float("nan")})


def test_figures_stand_to_the_right_in_a_table_and_texts_to_the_left(capsys):
    rows = [["a run", "done", "2 of 10", "+0.5", "", "0"], ["b", "interrupted", "12 of 12", "-", "drifted", "13"]]
    output.print_table(["run", "state", "iteration", "gain", "note", "n"], rows)
    assert capsys.readouterr().out.splitlines() == [
        "  run     state         iteration   gain   note       n",
        "  a run   done            2 of 10   +0.5              0",
        "  b       interrupted    12 of 12      -   drifted   13",
    ]


def test_progress_is_silent_where_stderr_is_no_terminal(capsys):
    with output.progress() as show:
        show("reading", 1, 2)
        show.documents(3)
        show.say("a line")
        show.show()
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("a line\n", "")


def test_progress_is_shown_on_a_terminal_after_a_second_only(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for patience, shown in ((60.0, False), (0.0, True)):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setattr(output, "PATIENCE", patience)
        monkeypatch.setenv("TERM", "xterm")
        with output.progress() as show:
            show("reading [bold]", 1, 2)
            if shown:
                show.show()
        assert ("reading [bold]" in terminal.getvalue()) == shown


def test_what_goes_on_side_by_side_has_a_line_each_in_its_place():
    from rich.console import Console
    from rich.progress import Progress as Bar

    bar = Bar(console=Console(file=io.StringIO()))
    show = output.Progress(bar)

    def lines():
        return [(task.description, task.completed, task.total) for task in bar.tasks]

    show("proposing", 1, 0)
    assert lines() == [("proposing", 1, None)]
    show("one: documents", 3, 9, lane=1)
    show("two", lane=2)
    show("one: indexing", lane=1)
    assert lines() == [("one: indexing", 0, None), ("two", 0, None)]
    show("two: documents", 2, 9, lane=2)
    show.end(1)
    show.end(7)
    assert lines() == [("two: documents", 2, 9)]
    show.end(2)
    show("again")
    assert lines() == [("again", 0, None)]


def test_a_passage_is_the_piece_with_the_most_words_of_the_query():
    text = (
        "The knife is an old tool. " * 20 + "Oil the wooden board before the knife meets it. " + "More follows. " * 20
    )
    found = passage(text, "oil a wooden cutting board", length=80)
    assert "Oil the wooden board" in found
    assert found.startswith("…")
    assert found.endswith("…")
    assert len(found) <= 90


def test_a_passage_without_a_match_is_the_beginning():
    assert passage("Nothing to see here.", "the") == "Nothing to see here."
    assert passage("", "anything") == ""
