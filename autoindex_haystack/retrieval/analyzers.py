"""Analyzers: how a text becomes the tokens that BM25 counts.

- ``bm25s`` is the analyzer of the paper and of the bm25s package: lower-case, the pattern ``\\b\\w\\w+\\b`` on Unicode,
  33 English stop words removed, no stemming.
- ``lucene-english`` is Lucene's English analyzer as Anserini uses it: words by the rules of Unicode, lower-case,
  33 English stop words removed, Porter stems.
- ``lucene-standard`` is Lucene's StandardAnalyzer: words by the rules of Unicode, lower-case.

The last two give the tokens of Lucene without Lucene; see :mod:`autoindex_haystack.retrieval.lucene_analysis`.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from autoindex_haystack.retrieval import lucene_analysis

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
"""The token pattern of the ``bm25s`` analyzer, as in bm25s and scikit-learn's CountVectorizer."""


@dataclass(frozen=True)
class _Analyzer:
    """An analyzer cuts a text into pieces, most of which occur often, and makes the tokens of each piece by itself.

    :param prepare: What is done to the text first.
    :param pattern: Gives the pattern that finds the pieces.
    :param tokens: Makes the tokens of a piece.
    """

    prepare: Callable[[str], str]
    pattern: Callable[[], re.Pattern[str]]
    tokens: Callable[[str], Sequence[str]]


@cache
def stopwords() -> frozenset[str]:
    """Returns the 33 English stop words of bm25s (those of Lucene's classic English list)."""
    from bm25s.stopwords import STOPWORDS_EN

    return frozenset(STOPWORDS_EN)


_ASCII_WORDS = "".join(letter.lower() if letter.isalnum() or letter == "_" else " " for letter in map(chr, range(128)))
"""Keeps what words are made of, in lower case, and makes blanks of everything else."""


@cache
def _left_out() -> frozenset[str]:
    """The words that are no tokens of the ``bm25s`` analyzer: stop words, and single characters of ASCII."""
    return stopwords() | frozenset(_ASCII_WORDS)


@cache
def _find_tokens() -> re.Pattern[str]:
    return re.compile(TOKEN_PATTERN)


def _unless_stop_word(token: str) -> Sequence[str]:
    return () if token in stopwords() else (token,)


_ANALYZERS = {
    "bm25s": _Analyzer(str.lower, _find_tokens, _unless_stop_word),
    "lucene-english": _Analyzer(str, lucene_analysis.piece_pattern, lucene_analysis.english_terms),
    "lucene-standard": _Analyzer(str, lucene_analysis.piece_pattern, lucene_analysis.standard_terms),
}

ANALYZER_NAMES = tuple(_ANALYZERS)
"""Every analyzer that can be named in settings."""


def tokenize(text: str, analyzer: str = "bm25s") -> list[str]:
    """Split one text into tokens, in order, repetitions kept.

    :param text: The text of a chunk or a query.
    :param analyzer: The analyzer's name.
    :returns: The tokens.
    :raises ValueError: If the analyzer is unknown.

    ```python
    from autoindex_haystack.retrieval.analyzers import tokenize

    assert tokenize("The Wing's lift, 3.14!") == ["wing", "lift", "14"]
    assert tokenize("The Wing's lift, 3.14!", "lucene-english") == ["wing", "lift", "3.14"]
    assert tokenize("The Wing's lift, 3.14!", "lucene-standard") == ["the", "wing's", "lift", "3.14"]
    ```
    """
    chosen = _analyzer(analyzer)
    if analyzer == "bm25s":
        # Several times as fast: here a piece is a token, and in ASCII text a table and ``split`` find the pieces.
        left_out = _left_out()
        found = text.translate(_ASCII_WORDS).split() if text.isascii() else _find_tokens().findall(text.lower())
        return [piece for piece in found if piece not in left_out]
    found = chosen.pattern().findall(chosen.prepare(text))
    tokens: list[str] = []
    for piece in found:
        tokens += chosen.tokens(piece)
    return tokens


def pieces(text: str, analyzer: str = "bm25s") -> Iterator[tuple[int, str]]:
    """Find the stretches of a text of which tokens are made, one by one.

    :param text: The text.
    :param analyzer: The analyzer's name.
    :returns: Where each begins, and its text; :func:`tokenize` gives its tokens.
    """
    return ((match.start(), match.group()) for match in _analyzer(analyzer).pattern().finditer(text))


def has_token(text: str, analyzer: str = "bm25s") -> bool:
    """Whether a text has any token; stops at the first.

    :param text: The text.
    :param analyzer: The analyzer's name.
    """
    chosen = _analyzer(analyzer)
    return any(chosen.tokens(match.group()) for match in chosen.pattern().finditer(chosen.prepare(text)))


def tokenize_corpus(texts: Sequence[str], analyzer: str = "bm25s") -> tuple[list[list[int]], dict[str, int]]:
    """Split many texts into token numbers.

    :param texts: The texts of the chunks.
    :param analyzer: The analyzer's name.
    :returns: For each text its token numbers in order, and the vocabulary (token to number).
    """
    chosen = _analyzer(analyzer)
    prepare, find = chosen.prepare, chosen.pattern().findall
    numbers = _Numbers(chosen.tokens)
    several = numbers.several
    tokenized = []
    for text in texts:
        row: list[int] = []
        for piece in find(prepare(text)):
            number = numbers[piece]
            if number >= 0:
                row.append(number)
            else:
                row += several[~number]
        tokenized.append(row)
    return tokenized, numbers.vocabulary


class _Numbers(dict[str, int]):
    """From a piece to the number of its token; when it has none or several, to ``~i`` for the i-th of ``several``.

    So one look-up decides for almost every piece. It is filled as pieces are met.

    :param tokens: Makes the tokens of a piece.
    """

    def __init__(self, tokens: Callable[[str], Sequence[str]]) -> None:
        super().__init__()
        self._tokens = tokens
        self.vocabulary: dict[str, int] = {}
        self.several: list[Sequence[int]] = [(), ()]
        """The first is for a piece too long to be kept, until the next one; the second for pieces without tokens."""

    def __missing__(self, piece: str) -> int:
        vocabulary = self.vocabulary
        found = [vocabulary.setdefault(token, len(vocabulary)) for token in self._tokens(piece)]
        if len(piece) > _LONGEST_KEPT:
            self.several[0] = found
            return ~0
        if len(found) == 1:
            number = found[0]
        elif found:
            number = ~len(self.several)
            self.several.append(found)
        else:
            number = ~1
        self[piece] = number
        return number


_LONGEST_KEPT = 64
"""Characters; longer pieces seldom come again and would fill the memory."""


def _analyzer(name: str) -> _Analyzer:
    if name not in _ANALYZERS:
        msg = f"unknown analyzer {name!r}; known: {', '.join(ANALYZER_NAMES)}"
        raise ValueError(msg)
    return _ANALYZERS[name]
