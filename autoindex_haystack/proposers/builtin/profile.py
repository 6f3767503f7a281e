"""What a corpus is like: markup, fields, titles, lengths, LaTeX, identifiers. Read from a sample, not from queries."""

import re
import statistics
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

import xxhash

from autoindex_haystack.collection import Document
from autoindex_haystack.proposers.builtin.transforms import (
    abbreviations,
    aliases,
    boilerplate,
    chapters,
    cleaning,
    code,
    fields,
    latex,
    pages,
    repetition,
    variants,
)

SAMPLE = 600
"""Documents that are looked at."""

_USUAL = 0.6
"""Share of the documents that must have a property for it to be called the corpus's."""

_SEVERAL = 0.02
"""Share of the documents that must have a field for it to be one of the corpus's."""

_TITLE_WORDS = 15
_TITLE_NAMES = ("title", "name", "focus", "subject", "headline", "headword", "package", "t", "term", "topic")

_ALIAS_NAME = re.compile(
    r"(?i)syn|synonyms?|alias(?:es)?|aka|also[ _-]?known[ _-]?as|alt(?:ernative)?[ _-]?(?:names?|titles?)|provides"
)

_FEWEST_ELEMENT_WORDS = 15

_SKETCH = 32
_TELLING = 60
"""Characters of a text that hardly stands in two corpora by chance."""

Splitter = Callable[[str], list[tuple[str, str]]]

SPLITTERS: dict[str, Splitter] = {
    "xml": fields.split_xml,
    "front_matter": fields.split_front_matter,
    "marked": fields.split_marked,
    "record": fields.split_record,
    "tagged": pages.split_tagged,
    "man": pages.split_man,
    "wiki": pages.split_wiki,
    "markdown": pages.split_markdown,
    "code": code.split_code,
}
"""The parsers by markup."""

HEADINGS = {
    "markdown": chapters.MARKDOWN_HEADING,
    "wiki": chapters.WIKI_HEADING,
    "man": chapters.MAN_HEADING,
    "underlined": chapters.UNDERLINED_HEADING,
    "code": chapters.CODE_HEADING,
    "numbered": chapters.NUMBERED_HEADING,
}
"""Patterns of headings by kind."""


@dataclass(frozen=True)
class Profile:
    """What a corpus is like.

    :param markup: One of :data:`SPLITTERS`, or empty.
    :param title_field: The field that names a document, when documents have no title of their own.
    :param field_shares: Share of the words by field, for fields with at least one in a thousand that one document in
        fifty has: a heading of a single long page is no field of the corpus.
    :param titled: Share of the documents that have a title.
    :param words: Median number of words.
    :param spread: Words of a longer document (3 of 4 are shorter) relative to a shorter one (1 of 4 is).
    :param long: Share of the documents with more than 150 words.
    :param headings: Share of the documents with two or more headings of one kind.
    :param heading: That kind, one of :data:`HEADINGS`; empty without headings.
    :param element: The XML element that documents have several of, each with words enough for a chunk.
    :param alias_fields: Names of the fields that hold other names.
    :param aliases: Share of the documents that tell another name.
    :param abbreviations: Abbreviations that a document defines, on average.
    :param repeated_lines: Share of the characters in lines that a document repeats.
    :param labels: Share of the characters in labels in brackets that one in 500 documents has.
    :param markdown: Share of the characters in Markdown links, macros and tags.
    :param latex: LaTeX commands and mathematical symbols per 100 words.
    :param addresses: Share of the characters in web addresses.
    :param identifiers: Identifiers per 100 words.
    :param hyphens: Hyphenated words per 100 words.
    :param letters: Words with letters beyond ASCII per 100 words.
    :param boilerplate: Share of the characters in lines that one in a hundred documents has.
    :param metadata: Names of the metadata fields beside the title.
    :param sketch: Hashes by which the corpus, parts of it and what holds it are told again: the smallest of its texts.
    """

    markup: str = ""
    title_field: str = ""
    field_shares: dict[str, float] = field(default_factory=dict)
    titled: float = 0.0
    words: float = 0.0
    spread: float = 1.0
    long: float = 0.0
    headings: float = 0.0
    heading: str = ""
    element: str = ""
    alias_fields: tuple[str, ...] = ()
    aliases: float = 0.0
    abbreviations: float = 0.0
    repeated_lines: float = 0.0
    labels: float = 0.0
    markdown: float = 0.0
    latex: float = 0.0
    addresses: float = 0.0
    identifiers: float = 0.0
    hyphens: float = 0.0
    letters: float = 0.0
    boilerplate: float = 0.0
    metadata: tuple[str, ...] = ()
    sketch: frozenset[str] = frozenset()

    def derived_title(self, text: str) -> str:
        """Returns the value of the field that names a document; empty when there is no such field."""
        return fields.first_value(SPLITTERS[self.markup](text), self.title_field) if self.title_field else ""


def sample(documents: Sequence[Document], size: int = SAMPLE) -> list[Document]:
    """Returns documents evenly spread over the corpus."""
    return list(documents[:: max(1, len(documents) // size)][:size])


def profile_corpus(documents: Sequence[Document]) -> Profile:
    """Look at a sample of a corpus.

    :param documents: The corpus.
    :returns: Its profile.
    """
    seen = sample(documents)
    texts = [document.text for document in seen]
    markup = _markup(texts)
    split = [SPLITTERS[markup](text) for text in texts] if markup else []
    titled = sum(bool(document.metadata.get("title")) for document in seen) / len(seen)
    words = [len(text.split()) for text in texts]
    total, characters = max(1, sum(words)), max(1, sum(map(len, texts)))
    heading, headings = _heading(texts, markup)
    alias_fields = tuple(sorted({name for part in split for name, _ in part if _ALIAS_NAME.fullmatch(name)}))

    def per_hundred(pattern: re.Pattern[str]) -> float:
        return 100 * sum(len(pattern.findall(text)) for text in texts) / total

    def share(*patterns: re.Pattern[str]) -> float:
        return sum(len(m[0]) for pattern in patterns for text in texts for m in pattern.finditer(text)) / characters

    return Profile(
        markup=markup,
        title_field="" if titled > _USUAL else _title_field(split),
        field_shares=_shares(split),
        titled=titled,
        words=statistics.median(words),
        spread=_spread(words),
        long=sum(count > 150 for count in words) / len(words),
        headings=headings,
        heading=heading,
        element=_element(texts) if markup == "xml" else "",
        alias_fields=alias_fields,
        aliases=sum(_tells_alias(text, part, alias_fields) for text, part in zip_longest(texts, split)) / len(texts),
        abbreviations=sum(len(abbreviations.definitions(text)) for text in texts) / len(texts),
        repeated_lines=sum(len(text) - len(repetition.drop_repeated_lines(text)) for text in texts) / characters,
        labels=_labels(texts) / characters,
        markdown=share(cleaning.MACRO, cleaning.LINK) if markup != "xml" else 0.0,
        latex=100 * sum(map(_latex_commands, texts)) / total,
        addresses=share(cleaning.ADDRESS),
        identifiers=per_hundred(variants.IDENTIFIER),
        hyphens=per_hundred(variants.HYPHENATED),
        letters=per_hundred(variants.NOT_ASCII),
        boilerplate=_boilerplate(texts) / characters,
        metadata=tuple(sorted({name for document in seen for name in document.metadata if name != "title"})),
        sketch=_sketch(documents),
    )


def _sketch(documents: Sequence[Document]) -> frozenset[str]:
    """Take the smallest hashes of texts: two corpora share some when one holds a good part of the other."""
    kept: list[str] = []
    for document in documents:
        if len(document.text) >= _TELLING:
            found = xxhash.xxh64_hexdigest(document.text.encode("utf-8", "surrogatepass"))
            if (len(kept) < _SKETCH or found < kept[-1]) and found not in kept:
                insort(kept, found)
                del kept[_SKETCH:]
    return frozenset(kept)


def _markup(texts: Sequence[str]) -> str:
    """Find the markup that most documents have."""
    found = Counter(kind for text in texts if (kind := _markup_of(text)))
    kind, count = found.most_common(1)[0] if found else ("", 0)
    return kind if count >= _USUAL * len(texts) else ""


def _markup_of(text: str) -> str:
    front_matter = text.startswith("---") and len(fields.split_front_matter(text)) > 1
    if front_matter and len(chapters.MARKDOWN_HEADING.findall(text)) < 2:
        return "front_matter"
    if front_matter:
        return "markdown"
    if re.match(r"\s*<[?!A-Za-z]", text) and len(fields.TAG.findall(text)) >= 4:
        return "xml"
    lines = text.splitlines()
    if sum(fields.MARKER.fullmatch(line) is not None for line in lines) >= 2:
        return "marked"
    if lines and fields.KEY.match(lines[0]) and sum(fields.KEY.match(line) is not None for line in lines) >= 3:
        return "record"
    if sum(pages.TAGGED.match(line) is not None for line in lines) >= 3:
        return "tagged"
    if len(chapters.MAN_HEADING.findall(text)) >= 2:
        return "man"
    if len(chapters.WIKI_HEADING.findall(text)) >= 2 or ("[[" in text and "{{" in text):
        return "wiki"
    if _is_code(text, lines):
        return "code"
    return "markdown" if len(chapters.MARKDOWN_HEADING.findall(text)) >= 2 or "\n```" in text else ""


def _is_code(text: str, lines: Sequence[str]) -> bool:
    """Whether signatures and ends of lines are those of a programming language."""
    if not any(part.lastgroup == "signature" for part in code.CODE_PART.finditer(text)):
        return False
    written = [line.rstrip() for line in lines if line.strip()]
    return sum(line.endswith((":", ";", "{", "}", ")", ",", "]", "(")) for line in written) >= 0.3 * len(written)


def _heading(texts: Sequence[str], markup: str) -> tuple[str, float]:
    """Find the kind of headings that most documents have two of, and the share of these documents."""
    # A comment line of a script is no heading, nor is a numbered line of a page that has real headings.
    kinds = ["code"] if markup == "code" else [kind for kind in HEADINGS if kind != "code"]
    shares = {kind: sum(len(HEADINGS[kind].findall(text)) >= 2 for text in texts) / len(texts) for kind in kinds}
    best = max(shares, key=lambda kind: shares[kind])
    return (best, shares[best]) if shares[best] else ("", 0.0)


def _element(texts: Sequence[str]) -> str:
    """Find the XML element to make chunks of: the one whose repeated pieces hold most words, elements inside it."""
    words: Counter[str] = Counter()
    documents: Counter[str] = Counter()
    for text in texts:
        names = Counter(tag[2] for tag in fields.TAG.finditer(text) if tag[2] and tag[1])
        for name, count in names.items():
            pieces = chapters.elements(text, "", name, _FEWEST_ELEMENT_WORDS) if count > 1 else []
            if len(pieces) > 1:
                documents[name] += 1
                words[name] += sum(len(piece.split()) for piece in pieces)
    usual = [name for name in words if documents[name] >= 0.2 * len(texts)]
    return max(usual, key=lambda name: (words[name], name), default="")


def _tells_alias(text: str, part: Sequence[tuple[str, str]] | None, names: Sequence[str]) -> bool:
    return bool(aliases.field_aliases(part or (), names) or aliases.phrase_aliases(text))


def _labels(texts: Sequence[str]) -> int:
    labels = cleaning.learn_labels(texts, 0.002)
    return sum(len(label) for text in texts for label in cleaning.LABEL.findall(text) if label in labels)


def _latex_commands(text: str) -> int:
    """Returns how many commands of LaTeX itself and mathematical symbols a text has."""
    commands = latex.LATEX_COMMAND.findall(text) if "\\" in text else []
    return sum(map(latex.is_latex, commands)) + (0 if text.isascii() else len(latex.SYMBOL.findall(text)))


def _shares(split: Sequence[Sequence[tuple[str, str]]]) -> dict[str, float]:
    words: Counter[str] = Counter()
    documents: Counter[str] = Counter()
    for document in split:
        documents.update({name for name, _ in document})
        for name, value in document:
            words[name] += len(value.split())
    total, least = max(1, sum(words.values())), _SEVERAL * len(split)
    return {
        name: count / total
        for name, count in words.most_common()
        if count >= total / 1_000 and documents[name] >= least
    }


def _title_field(split: Sequence[Sequence[tuple[str, str]]]) -> str:
    """Find the field that names documents: there once in nearly all of them, short, and seldom the same."""
    values: dict[str, list[str]] = defaultdict(list)
    for document in split:
        names = Counter(name for name, _ in document)
        for name, value in document:
            if names[name] == 1:
                values[name].append(value)
    fitting = {
        name: found
        for name, found in values.items()
        if len(found) > 0.9 * len(split)
        and statistics.median(len(value.split()) for value in found) <= _TITLE_WORDS
        and len(set(found)) > 0.9 * len(found)
    }
    named = [name for name in fitting if name.lower() in _TITLE_NAMES]
    return (named or list(fitting) or [""])[0]


def _spread(counts: Sequence[int]) -> float:
    ordered = sorted(counts)
    return max(1, ordered[len(ordered) * 3 // 4]) / max(1, ordered[len(ordered) // 4])


def _boilerplate(texts: Sequence[str]) -> int:
    lines = boilerplate.learn_boilerplate(texts, 0.01)
    return sum(len(line) for text in texts for line in text.splitlines() if line.strip() in lines)
