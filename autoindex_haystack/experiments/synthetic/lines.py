"""Lines of a document: its headings, its sentences, and the text without some of them."""

import re
from collections.abc import Iterator

_MARKDOWN = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_UNDERLINED = re.compile(r"^(\S.{2,118})\n(?:={3,}|-{3,}|~{3,})[ \t]*$", re.MULTILINE)
_HTML = re.compile(r"<h([1-6])\b[^<>]*>(.{2,200}?)</h\1>", re.IGNORECASE | re.DOTALL)
_ELEMENT = re.compile(r"<(h[1-6]|title)\b[^<>]*>(.{2,400}?)</\1>", re.IGNORECASE | re.DOTALL)
_WIKI = re.compile(r"^(={1,6})[ \t]*([^=\s].*?)\1[ \t]*$", re.MULTILINE)
_TAG = re.compile(r"<[^<>]*>")
_MARKS = re.compile(r"[*_`#=~]+")
_BLANKS = re.compile(r"\n[ \t]*\n")
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[^\W\d_a-z])|(?<=\s[.!?])\s+")
_PLAIN = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*[,;:.!?)]*")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_LABEL = re.compile(r"[\w-]+:(?:\s|$)")
_LONGEST_SENTENCE = 60
_WORD = re.compile(r"\w+")


def headings(text: str) -> list[str]:
    """Returns the headings of a text, Markdown, underlined, HTML or wiki, in their order and without their marks.

    :param text: The text.
    """
    if front := _FRONT_MATTER.match(text):
        text = text[front.end() :]
    found = [(match.start(), match[1]) for match in _MARKDOWN.finditer(text)]
    found += [(m.start(), m[1]) for m in _UNDERLINED.finditer(text) if not _LABEL.match(m[1])]
    found += [(match.start(), match[2]) for match in _WIKI.finditer(text)]
    if "<h" in text or "<H" in text:
        found += [(match.start(), _TAG.sub(" ", match[2])) for match in _HTML.finditer(text)]
    return [" ".join(_MARKS.sub(" ", heading).split()) for _, heading in sorted(found)]


def sentences(text: str) -> Iterator[str]:
    """Cut a text into sentences, which do not go beyond a blank line.

    :param text: The text.
    :returns: The sentences as they stand.
    """
    for paragraph in _BLANKS.split(text):
        for sentence in _END.split(paragraph):
            # Without marks at the ends of sentences, lines have to do.
            yield from sentence.split("\n") if len(sentence.split()) > _LONGEST_SENTENCE else [sentence]


def is_prose(sentence: str) -> bool:
    """Whether a sentence is made of words, not of code, data or markup.

    :param sentence: The sentence.
    """
    words = sentence.split()
    plain = sum(_PLAIN.fullmatch(word) is not None for word in words)
    return 8 <= len(words) <= _LONGEST_SENTENCE and plain >= 0.85 * len(words)


def normalized(line: str) -> str:
    """Returns the words of a line in lower case, one blank between them: equal for what only marks tell apart.

    :param line: The line.
    """
    return " ".join(_WORD.findall(line.lower()))


def without_lines(text: str, said: str) -> str:
    """Take out of a text the lines that say little more than a title or heading, and its HTML elements.

    :param text: The text.
    :param said: The title or heading.
    :returns: The text without them; longer lines that mention it stay.
    """
    words = normalized(said)
    if not words:
        return text
    if "<" in text:
        text = _ELEMENT.sub(lambda match: " " if normalized(_TAG.sub(" ", match[2])) == words else match[0], text)
    most = 2 * words.count(" ") + 4
    return "".join(line for line in text.splitlines(keepends=True) if not _says(line, words, most))


def _says(line: str, words: str, most: int) -> bool:
    """Whether a line has these words in a row and at most so many in all."""
    if len(line) > 40 * most:
        return False
    found = normalized(_TAG.sub(" ", line))
    return f" {words} " in f" {found} " and found.count(" ") < most


def without_sentence(text: str, said: str) -> str:
    """Take a sentence out of a text, wherever it stands.

    :param text: The text.
    :param said: The sentence as it stands.
    :returns: The text without it.
    """
    return text.replace(said, " ")
