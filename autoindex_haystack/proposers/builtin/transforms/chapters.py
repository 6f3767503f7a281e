"""Chapters: sections and question-answer pairs as chunks of their own, and headings said again.

Sections with the title in front help where a long document answers in one place; headings said again help where they
name what the text is about. The chunks cost the document's length once more in the index.
"""

import html
import re
from itertools import pairwise

from autoindex_haystack.proposers.builtin.transforms.words import LONGEST_TITLE, MOST_CHUNKS

MARKDOWN_HEADING = re.compile(r"^#{1,6}[ \t]+\S.*$", re.MULTILINE)
UNDERLINED_HEADING = re.compile(r"^\S.{0,120}\n(?:={3,}|-{3,}|~{3,}|\^{3,})[ \t]*$", re.MULTILINE)
WIKI_HEADING = re.compile(r"^={2,6}[^=\n]+={2,6}[ \t]*$", re.MULTILINE)
MAN_HEADING = re.compile(r"^\.S[HhSs]\b.*$", re.MULTILINE)
NUMBERED_HEADING = re.compile(
    r"^(?:(?:section|article|chapter|part|§|sec\.|art\.)[ \t]*[\dIVX]+|\d{1,2}(?:\.\d{1,2}){0,3}\.?[ \t]+[A-Z]|"
    r"q(?:uestion)?[ \t]?\d*[:.]).*$",
    re.MULTILINE | re.IGNORECASE,
)
CODE_HEADING = re.compile(
    r"^(?:export[ \t]+|public[ \t]+|pub[ \t]+|async[ \t]+)?(?:def|class|function|func|fn|struct|interface|impl)\b.*$",
    re.MULTILINE,
)
TAGS = re.compile(r"<[^<>]{1,300}>")


def sections(text: str, title: str, words: int, heading: re.Pattern[str]) -> list[str]:
    """Cut a page at its headings, each section with the title in front; short sections join the next.

    The least number of words grows with a very long page, so that there are not too many sections.
    """
    words = max(words, len(text.split()) // MOST_CHUNKS)
    cuts = [0, *(found.start() for found in heading.finditer(text)), len(text)]
    pieces: list[str] = []
    pending = ""
    for begin, end in pairwise(cuts):
        pending += text[begin:end]
        if len(pending.split(None, words)) >= words:
            pieces.append(pending)
            pending = ""
    if pending.strip():
        pieces.append(pending)
    return [f"{title[:LONGEST_TITLE]}\n{piece}" for piece in pieces] if len(pieces) > 1 else []


def headings(text: str, heading: re.Pattern[str]) -> str:
    """Returns the headings of a page, one a line."""
    return "\n".join(found.strip("#= \t") for found in heading.findall(text))


def elements(text: str, title: str, name: str, words: int) -> list[str]:
    """Returns the text of each element of this name with at least so many words, the title in front of each."""
    if text.count(f"<{name}") < 2:
        return []
    # Nothing beyond the last end is looked at: without it each start would be read up to the end of the text.
    ended = "".join(text.rpartition(f"</{name}>")[:2])
    inner = re.findall(rf"<{name}\b[^<>]*>(.*?)</{name}>", ended, re.DOTALL)
    shown = (html.unescape(TAGS.sub(" ", piece)).strip() for piece in inner)
    long = [piece for piece in shown if len(piece.split(None, words)) >= words]
    return [f"{title[:LONGEST_TITLE]}\n{piece}" for piece in long[:MOST_CHUNKS]]
