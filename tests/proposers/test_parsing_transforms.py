"""Transforms that read structure: pages, source code, sections and elements."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.proposers.builtin.transforms import chapters, code, fields, pages

MARKDOWN = """---
title: Flex box
---
# Flexible boxes

Intro text.

```css
display: flex;
# not a heading
```

## Axes
Main axis.

Cross
-----
Other axis.
"""
WIKI = """{{Infobox
| birth_place = [[Paris|the city of Paris]]
}}
'''Ada''' was a [[mathematician]].<ref>gone</ref>
== Life ==
Born in [[London]].
[[Category:Pioneers]]
"""
MAN = r""".\" a comment
.TH LS 1 "May 2026"
.SH NAME
ls \- list \fBdirectory\fR contents
.SH "EXIT STATUS"
.TP
.B 0
if OK,
"""
PYTHON = '''"""Tools for queues."""

import heapq


class Queue:
    """Items by priority."""

    def push(self, item):
        # keeps the heap
        heapq.heappush(self.items, item)
'''
C = """#include <stdio.h>
/* Prints a greeting. */
int main(int argc, char **argv) {
    puts("hi"); // says hi
}
"""


class TestPages:
    def test_markdown_has_front_matter_title_headings_code_and_body(self):
        assert pages.split_markdown(MARKDOWN) == [
            ("title", "Flex box"),
            ("title", "Flexible boxes"),
            ("body", "Intro text."),
            ("code", "display: flex;\n# not a heading"),
            ("heading", "Axes"),
            ("body", "Main axis."),
            ("heading", "Cross"),
            ("body", "Other axis."),
        ]

    def test_a_wiki_page_has_template_values_headings_and_categories(self):
        assert pages.split_wiki(WIKI) == [
            ("body", "Infobox"),
            ("birth_place", "the city of Paris"),
            ("body", "Ada was a mathematician."),
            ("heading", "Life"),
            ("body", "Born in London."),
            ("category", "Pioneers"),
        ]

    def test_a_manual_page_is_split_into_its_sections_without_macros(self):
        assert pages.split_man(MAN) == [
            ("title", "LS 1 May 2026"),
            ("name", "ls - list directory contents"),
            ("exit status", "0\nif OK,"),
        ]

    @pytest.mark.parametrize("record", ["TI  - a title\nAB  - text\n      goes on", "%T a title\n%A text\ngoes on"])
    def test_tagged_fields_go_on_until_the_next_tag(self, record):
        (_, title), (_, text) = pages.split_tagged(record)
        assert (title, text) == ("a title", "text\ngoes on")

    def test_elements_of_html_that_are_never_closed_name_nothing(self):
        assert fields.split_xml("<p>one<br>two<img src='x'>three</p>") == [("p", "one"), ("p", "two"), ("p", "three")]

    @given(st.text(alphabet="ab#=-\n .", max_size=120))
    def test_no_page_loses_its_words(self, text):
        for split in (pages.split_markdown, pages.split_tagged, pages.split_wiki):
            kept = " ".join(value for _, value in split(f"x {text}"))
            assert sorted(re.findall(r"[ab]+", text)) == sorted(re.findall(r"[ab]+", kept))


class TestCode:
    def test_python_is_split_into_docstrings_comments_signatures_and_body(self):
        assert code.split_code(PYTHON) == [
            ("docstring", "Tools for queues."),
            ("body", "import heapq"),
            ("signature", "class Queue:"),
            ("docstring", "Items by priority."),
            ("signature", "def push(self, item):"),
            ("comment", "keeps the heap"),
            ("body", "heapq.heappush(self.items, item)"),
        ]

    def test_comments_of_c_are_apart_and_directives_are_not(self):
        assert code.split_code(C) == [
            ("body", "#include <stdio.h>"),
            ("comment", "Prints a greeting."),
            ("signature", "int main(int argc, char **argv) {"),
            ("body", 'puts("hi");'),
            ("comment", "says hi"),
            ("body", "}"),
        ]

    @given(st.text(alphabet="ab(){};#/*\"' \ndefclas", max_size=150))
    def test_no_word_is_lost(self, text):
        kept = " ".join(value for _, value in code.split_code(text))
        assert re.findall(r"\w+", kept) == re.findall(r"\w+", text)


class TestChapters:
    def test_sections_begin_at_headings_and_keep_all_words(self):
        page = "intro text here\n# One\nalpha beta gamma\n## Two\ndelta epsilon zeta\n"
        pieces = chapters.sections(page, "T", 3, chapters.MARKDOWN_HEADING)
        assert len(pieces) == 3
        assert " ".join(piece.removeprefix("T\n") for piece in pieces).split() == page.split()

    def test_short_sections_join_the_next(self):
        page = "# One\nx\n# Two\nalpha beta gamma delta\n# Three\nalpha beta gamma delta"
        assert len(chapters.sections(page, "T", 6, chapters.MARKDOWN_HEADING)) == 2

    @pytest.mark.parametrize(
        ("heading", "page"),
        [
            (chapters.UNDERLINED_HEADING, "Usage\n=====\ntext\nNotes\n-----\ntext"),
            (chapters.WIKI_HEADING, "== Usage ==\ntext\n=== Notes ===\ntext"),
            (chapters.MAN_HEADING, ".SH NAME\ntext\n.SS Notes\ntext"),
            (chapters.NUMBERED_HEADING, "Section 12 Scope\ntext\n3.1 Terms used\ntext"),
            (chapters.NUMBERED_HEADING, "Q: What is it?\ntext\nQuestion 2: Why?\ntext"),
            (chapters.CODE_HEADING, "def one():\n    pass\nclass Two:\n    pass"),
        ],
    )
    def test_every_kind_of_heading_is_found(self, heading, page):
        assert len(heading.findall(page)) == 2
        assert len(chapters.sections(page, "T", 1, heading)) == 2

    def test_headings_lose_their_marks(self):
        assert chapters.headings("# One\ntext\n## Two ##", chapters.MARKDOWN_HEADING) == "One\nTwo"

    def test_elements_become_texts_with_the_title_and_short_ones_are_left_out(self):
        page = "<d><qa><q>Why?</q><a>It &amp; that</a></qa><qa id='2'><q>x</q></qa></d>"
        assert [piece.split() for piece in chapters.elements(page, "T", "qa", 2)] == [["T", "Why?", "It", "&", "that"]]
        assert chapters.elements("<qa>only one here</qa>", "T", "qa", 1) == []
