"""What Lucene is given to index and to ask for: each analyzer of the settings as Python's part and Lucene's part.

The ``bm25s`` analyzer runs in Python, so that its tokens are the same on both engines for any text, and Lucene only
splits them at blanks. Lucene's own analyzers get the text as it is.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autoindex_haystack.retrieval.analyzers import tokenize
from pyserini_backend.jvm import java, java_class

MAX_TOKEN = 255
"""Lucene's whitespace tokenizer cuts longer tokens; in UTF-16 code units, of which a code point takes one or two."""


@dataclass(frozen=True)
class LuceneAnalyzer:
    """An analyzer of the settings.

    :param prepare: Turns a text into what Lucene's analyzer is given.
    :param create: Makes Lucene's analyzer.
    """

    prepare: Callable[[str], str]
    create: Callable[[], Any]


def lucene_analyzer(name: str) -> LuceneAnalyzer:
    """Returns the analyzer of that name in the settings."""
    return _ANALYZERS[name]


def lucene_tokens(name: str, text: str) -> list[str]:
    """Returns the tokens that Lucene makes of a text.

    :param name: The analyzer's name in the settings.
    :param text: The text.
    """
    analyzer = lucene_analyzer(name)
    with java("the text cannot be analyzed"):
        found = java_class("io.anserini.analysis.AnalyzerUtils").analyze(analyzer.create(), analyzer.prepare(text))
        return [str(token) for token in found.toArray()]


def joined_tokens(text: str) -> str:
    """Returns the tokens of the ``bm25s`` analyzer separated by blanks, as Lucene's whitespace analyzer splits them."""
    tokens = tokenize(text, "bm25s")
    if max(map(len, tokens), default=0) > MAX_TOKEN // 2:
        tokens = [stand_in(token) if _utf16_length(token) > MAX_TOKEN else token for token in tokens]
    return " ".join(tokens)


def clean_text(text: str) -> str:
    """Returns a text that reaches Java whole.

    Half a surrogate pair is replaced as an encoder would do, and NUL, at which texts are joined, by a blank: Lucene's
    analyzers break words at both.
    """
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("\0", " ")


def stand_in(token: str) -> str:
    """Returns a short token for a long one; no token of the ``bm25s`` analyzer has a ``#``, so it equals no other."""
    return "#" + hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _utf16_length(token: str) -> int:
    return len(token) + sum(character > "\uffff" for character in token)


def _whitespace() -> Any:
    return java_class("org.apache.lucene.analysis.core.WhitespaceAnalyzer")()


def _english() -> Any:
    return java_class("io.anserini.analysis.DefaultEnglishAnalyzer").newDefaultInstance()


def _standard() -> Any:
    return java_class("org.apache.lucene.analysis.standard.StandardAnalyzer")()


_ANALYZERS = {
    "bm25s": LuceneAnalyzer(joined_tokens, _whitespace),
    "lucene-english": LuceneAnalyzer(clean_text, _english),
    "lucene-standard": LuceneAnalyzer(clean_text, _standard),
}
