"""What Lucene is given to index and to ask for: each analyzer of the settings as Python's part and Lucene's part.

For the ``bm25s`` analyzer Python lowers the text and blanks out what is no word character for it, which decides for any
Unicode, and Lucene only cuts at the rest. Lucene's own analyzers get the text as it is.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from autoindex_haystack.retrieval.analyzers import tokenize
from pyserini_backend.jvm import java, java_class

LONGEST_TOKEN = 8_000
"""Characters, of four bytes at most; Lucene refuses terms of more than 32,766 bytes."""


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


def word_text(text: str) -> str:
    """Returns a text in which the tokens of the ``bm25s`` analyzer are what :func:`_words` cuts out."""
    if len(text) > LONGEST_TOKEN and max(map(len, text.split()), default=0) > LONGEST_TOKEN:
        return joined_tokens(text)
    lowered = text.lower()
    return lowered.replace("\0", " ") if lowered.isascii() else _NO_WORD.sub(" ", lowered)


_NO_WORD = re.compile(r"[^\x01-\x7f\w]+")
"""What separates words for Python and is not ASCII, of which Lucene knows that; and NUL, at which texts are joined."""


def joined_tokens(text: str) -> str:
    """Returns the tokens of the ``bm25s`` analyzer separated by blanks, too long ones replaced."""
    tokens = tokenize(text, "bm25s")
    return " ".join(stand_in(token) if len(token) > LONGEST_TOKEN else token for token in tokens)


def clean_text(text: str) -> str:
    """Returns a text that reaches Java whole.

    Half a surrogate pair is replaced as an encoder would do, and NUL, at which texts are joined, by a blank: Lucene's
    analyzers break words at both.
    """
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("\0", " ")


def stand_in(token: str) -> str:
    """Returns a short token for a long one; no token of the ``bm25s`` analyzer has its first character."""
    return "\ue000" + hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _words() -> Any:
    """Lucene's analyzer of words of two characters and more, English stop words left out, all lower-case before."""
    settings = java_class("java.util.HashMap")()
    settings.put("pattern", "[0-9a-z_\x80-\U0010ffff]{2,}")
    builder = java_class("org.apache.lucene.analysis.custom.CustomAnalyzer").builder()
    # Named by their classes: looking names up would search all of Lucene, which takes longer than all else here.
    find = java_class("java.lang.Class").forName
    tokenizer = find("org.apache.lucene.analysis.pattern.SimplePatternTokenizerFactory")
    # Without any words it takes the 33 of Lucene, which are those of bm25s.
    stop = find("org.apache.lucene.analysis.core.StopFilterFactory")
    kind = "(Ljava/lang/Class;Ljava/util/Map;)Lorg/apache/lucene/analysis/custom/CustomAnalyzer$Builder;"
    builder = builder.withTokenizer(tokenizer, settings, signature=kind)
    return builder.addTokenFilter(stop, java_class("java.util.HashMap")(), signature=kind).build()


def _english() -> Any:
    return java_class("io.anserini.analysis.DefaultEnglishAnalyzer").newDefaultInstance()


def _standard() -> Any:
    return java_class("org.apache.lucene.analysis.standard.StandardAnalyzer")()


_ANALYZERS = {
    "bm25s": LuceneAnalyzer(word_text, _words),
    "lucene-english": LuceneAnalyzer(clean_text, _english),
    "lucene-standard": LuceneAnalyzer(clean_text, _standard),
}
