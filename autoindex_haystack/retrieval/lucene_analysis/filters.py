"""What Lucene's English and standard analyzers make of a token: its term."""

import struct

from autoindex_haystack.retrieval.porter import porter_stem

ENGLISH_STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with".split()
)
"""The stop words of Lucene's EnglishAnalyzer, which Anserini uses too."""

_APOSTROPHES = "'\u2019\uff07"


def english_term(token: str) -> str | None:
    """Make a term as Anserini's DefaultEnglishAnalyzer does: without ``'s``, in lower case, no stop word, stemmed.

    :param token: A token of Lucene's StandardTokenizer.
    :returns: The term; None for a stop word.
    """
    if token[-1] in "sS" and token[-2:-1] in _APOSTROPHES and len(token) > 1:
        token = token[:-2]
    token = standard_term(token)
    return None if token in ENGLISH_STOP_WORDS else _stem(token)


def standard_term(token: str) -> str:
    """Make a term as Lucene's StandardAnalyzer does: in lower case.

    :param token: A token of Lucene's StandardTokenizer.
    :returns: The term.
    """
    # Java lowers each code point by itself: no final sigma, and one i for the dotted capital.
    return token.replace("\u0130", "i").replace("\u03a3", "\u03c3").lower()


def _stem(word: str) -> str:
    """Returns the Porter stem; as Lucene does, of UTF-16 code units, of which a character may take two."""
    if word.isascii() or max(word) <= "\uffff":
        return porter_stem(word)
    units = struct.iter_unpack("<H", word.encode("utf-16-le"))
    stem = porter_stem("".join(chr(unit) for (unit,) in units))
    return stem.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
