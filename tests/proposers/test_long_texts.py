"""No document is too long or too broken for a transform: each reads it once, whatever is opened and never closed."""

import signal

import pytest

from autoindex_haystack.experiments.synthetic import lines
from autoindex_haystack.proposers.builtin.profile import HEADINGS, SPLITTERS
from autoindex_haystack.proposers.builtin.transforms import (
    abbreviations,
    aliases,
    chapters,
    cleaning,
    informative,
    latex,
    layout,
    lengths,
    numbers,
    repetition,
    variants,
    word_forms,
)

CHARACTERS = 200_000
GUARD = 60
"""Seconds for what takes one when a text is read once, and minutes when it is read from every start."""

OPENED = {
    "comments": "<!-- ",
    "elements": "<p>",
    "tags": "<h1 ",
    "references": "<ref>x ",
    "lists": "<li> some words <b>bold</b>\n",
    "macros": "{{a(",
    "macros with bars": "{{a| ",
    "links": '[a](b "',
    "categories": "[[Category:a ",
    "fonts": "\\f[",
    "comments of code": "/* ",
    "docstrings": "''' \"\"\" ",
    "sentences": "a. ",
    "identifiers": "aB.c_",
    "abbreviations": "Long Form (LF ",
    "aliases": "also known as ",
    "numbers": "1,000.",
    "lines": "x\n",
    "lines of a value": " x\n",
    "headings": "# h\n",
    "blanks": " ",
    "letters": "y",
    "stars": "*",
    "equals": "=",
    "decomposed": "a\u0301\u0302",
    "syllables": "안녕 мой ",
}
BEGUN = {
    "a line of stars": f"Table {'*' * CHARACTERS}\n",
    "a value": f"Key: v\n{' x' * CHARACTERS}",
    "a category": f"[[Category:{'a' * CHARACTERS}\n",
    "a value of a template": f"|{' ' * CHARACTERS}\n",
    "a heading of a wiki": f"== a{' ' * CHARACTERS}b\n",
    "a heading": f"# a{' ' * CHARACTERS}b\n",
    "a macro": f"{{{{a|{' ' * CHARACTERS}",
    "elements that others end": "<a>" * (CHARACTERS // 8) + "</b>" * (CHARACTERS // 8),
    "words of many letters": " ".join(f"й{chr(0x430 + n % 32)}{n}" for n in range(CHARACTERS // 8)),
}
TEXTS = {name: (unit * CHARACTERS)[:CHARACTERS] for name, unit in OPENED.items()} | BEGUN
FUNCTIONS = {
    **SPLITTERS,
    **{f"{kind} sections": lambda text, k=kind: chapters.sections(text, "", 30, HEADINGS[k]) for kind in HEADINGS},
    "elements": lambda text: chapters.elements(text, "", "p", 1),
    "markdown": cleaning.clean_markdown,
    "labels": lambda text: cleaning.learn_labels([text], 0.1),
    "latex": latex.spell_latex,
    "identifiers": lambda text: variants.add_identifier_parts(text, digits=True, dotted=True),
    "hyphens": variants.add_joined_hyphens,
    "letters": variants.add_plain_letters,
    "numbers": numbers.add_number_forms,
    "abbreviations": abbreviations.definitions,
    "aliases": lambda text: aliases.learn_aliases([("a", aliases.phrase_aliases(text) + text.split())]),
    "sentences": lambda text: informative.key_sentences(text, {"": 1.0}, 3),
    "windows": lambda text: layout.windows(text, "", 60),
    "flatten": lambda text: repetition.flatten(text, 4),
    "repeated lines": repetition.drop_repeated_lines,
    "forms": lambda text: word_forms.learn_forms([text], 4, 1),
    "headings for queries": lines.headings,
    "lines for queries": lambda text: lines.without_lines(text, "some words"),
    "sentences for queries": lambda text: list(lines.sentences(text)),
}


@pytest.fixture
def guarded():
    def stop(*_):
        pytest.fail(f"read over and over for {GUARD} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    yield lambda: signal.alarm(GUARD)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_never_closed_is_read_once(name, guarded):
    for text in TEXTS.values():
        guarded()
        FUNCTIONS[name](text)


def test_a_very_long_document_has_a_bounded_number_of_chunks_and_they_hold_all_of_it():
    words = [f"w{n}" for n in range(500_000)]
    text = " ".join(words)
    page = "\n".join(f"# h{n}\nw{n} a b c d e f g" for n in range(50_000))
    several = "".join(f"<p>w{n} a</p>" for n in range(50_000))
    windows = layout.windows(text, "T", 60)
    sections = chapters.sections(page, "T", 5, chapters.MARKDOWN_HEADING)
    elements = chapters.elements(several, "T", "p", 1)
    assert all(100 < len(pieces) <= 2_001 for pieces in (windows, sections, elements))
    assert {word for piece in windows for word in piece.split()[1:]} == set(words)
    assert len(" ".join(sections).split()) == len(page.split()) + len(sections)


def test_a_title_as_long_as_a_text_is_not_said_whole_in_each_chunk():
    text, title = "word " * 20_000, "title " * 2_000
    assert sum(map(len, layout.windows(text, title, 60))) < 10 * len(text)


def test_the_fill_of_short_documents_beside_very_long_ones_is_bounded():
    length = lengths.learn_length(["one", "word " * 100_000, "word " * 100_000], 0.5)
    assert len(lengths.pad("one", length, 2)) < 64 << 10
