"""Whatever form an answer has, what it says is found; and nothing makes the reading fail."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.proposers.agents.answers import read_ideas, read_program, read_summary
from tests.agents_script import STEMS, SUMMARY, program

PROGRAM = program(STEMS)
IDEAS = {"ideas": [{"idea": "add stems", "mechanism": "forms", "risk": "length"}, {"idea": "drop lines"}]}
TEXT = json.dumps(IDEAS)
INDENTED = json.dumps(IDEAS, indent=1)


@pytest.mark.parametrize(
    "answer",
    [
        TEXT,
        f"Sure! Here are some [good] ideas:\n```json\n{INDENTED}\n```\nTell me more.",
        f"<think>What {{is}} this?</think>\n{INDENTED}",
        f"{TEXT}\n(see [1] and {{2}})",
        json.dumps(IDEAS["ideas"]),
        INDENTED.replace('"', "'"),
        INDENTED[:-3],
        INDENTED.replace("\n]", ",\n]"),
        f"```\n{TEXT}",
        json.dumps({"ideas": ["add stems", "drop lines"]}),
        "1. add stems\n2. **drop lines**\n",
        "My ideas:\n- add stems\n- drop lines",
    ],
)
def test_ideas_are_found_in_any_form(answer):
    assert [idea.idea for idea in read_ideas(answer, 5)] == ["add stems", "drop lines"]


@pytest.mark.parametrize(
    "answer",
    [
        f"```python\n{PROGRAM}```",
        f"Here you are:\n\n```py\n{PROGRAM}```\n\nAnd how to call it:\n```python\nPreprocessor().preprocess([])\n```",
        f"```python\nclass Preprocessor(: oops\n```\nNo, better:\n```python\n{PROGRAM}```",
        f"```\n{PROGRAM}",
        PROGRAM,
        f"I add stems.\n\n{PROGRAM}\n\nThat is all, I think.",
        json.dumps({"code": PROGRAM}),
        f"  ```Python\n{PROGRAM}  ```",
        f"```python\r\n{PROGRAM}```".replace("\r\n", "\n"),
    ],
)
def test_a_program_is_found_in_any_form(answer):
    assert read_program(answer) == PROGRAM


@pytest.mark.parametrize("answer", ["", "I am a teapot.", "```python\nprint('hello')\n```", "class", "```"])
def test_an_answer_without_a_program_has_none(answer):
    assert read_program(answer) is None


def test_a_program_that_was_cut_off_is_given_as_far_as_it_goes():
    assert read_program(f"```python\n{PROGRAM[:150]}") == PROGRAM[:150] + "\n"


def test_a_report_is_read_in_its_form_only():
    report = read_summary(f"Well.\n{json.dumps(SUMMARY)}")
    for part in ("Documents say another form", "walked", "Exact words", "1. Add stems.", "risk: Longer chunks"):
        assert part in report
    assert read_summary("The documents use other words.") is None


@given(
    st.text() | st.text(alphabet="{}[]\"':,`\n\\ abc1") | st.recursive(st.none() | st.text(), st.lists).map(json.dumps)
)
def test_nothing_makes_the_reading_fail(answer):
    read_ideas(answer, 3)
    read_program(answer)
    read_summary(answer)
