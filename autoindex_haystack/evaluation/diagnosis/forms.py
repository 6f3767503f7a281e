"""Which words of a text are other forms of a term: inflected, accented, hyphenated, or part of an identifier."""

import re
import unicodedata
from collections import Counter, defaultdict
from functools import lru_cache

from autoindex_haystack.retrieval.porter import porter_stem

_WORD = re.compile(r"\w+(?:[-'’]\w+)*")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+|\d+")
_JOINT = re.compile(r"[-'’_]")
_LONGEST = 200_000
"""Characters of a document that are looked at."""


def forms_by_key(text: str) -> dict[str, Counter[str]]:
    """Group the words of a text by what they are forms of.

    :param text: The text.
    :returns: Key, see :func:`key`, to the lower-case words with that key and how often they occur.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for word, count in Counter(_WORD.findall(text[:_LONGEST])).items():
        for form in _keys(word):
            found[form][word.lower()] += count
    return found


@lru_cache(maxsize=100_000)
def key(term: str) -> str:
    """Returns what all forms of a term have in common: the stem without accents.

    :param term: A term as an analyzer gives it.
    """
    if term.isascii():
        return porter_stem(term.lower())
    plain = unicodedata.normalize("NFKD", term.casefold())
    return porter_stem("".join(letter for letter in plain if not unicodedata.combining(letter)))


@lru_cache(maxsize=100_000)
def _keys(word: str) -> frozenset[str]:
    """The keys of a word, of its parts, and of its parts written together."""
    pieces = _JOINT.split(word)
    parts = _PARTS.findall(word)
    return frozenset(key(form) for form in (word, "".join(pieces), *pieces, *parts) if len(form) > 1)
