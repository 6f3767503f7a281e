"""Every token reaches Lucene as itself, whatever Unicode it is made of and however long."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoindex_haystack.retrieval import BM25Settings, ChunkTable
from autoindex_haystack.retrieval.analyzers import stopwords, tokenize
from pyserini_backend import jvm
from pyserini_backend.analysis import clean_text, joined_tokens, lucene_analyzer, word_text
from pyserini_backend.index import LuceneIndex


def lucene_tokens(analyzer: str, text: str) -> list[str]:
    """The tokens that Lucene makes of a text, by its own analyzer."""
    with jvm.java("the text cannot be analyzed"):
        stream = lucene_analyzer(analyzer).create().tokenStream("contents", text)
        term = stream.addAttribute(
            jvm.java_class("java.lang.Class").forName("org.apache.lucene.analysis.tokenattributes.CharTermAttribute")
        )
        stream.reset()
        tokens = []
        while stream.incrementToken():
            tokens.append(term.toString())
        stream.end()
        stream.close()
        return tokens


def found(texts: list[str], query: str) -> list[int]:
    with LuceneIndex.build(ChunkTable.of_texts(texts), BM25Settings()) as index:
        return sorted(index.candidates(query, len(texts)).ordinals.tolist())


@settings(max_examples=40)
@given(st.text(max_size=200))
def test_lucene_splits_prepared_texts_into_the_tokens_of_the_analyzer(text: str) -> None:
    # pyjnius drops a leading byte-order mark on the way back; no token has one.
    assert lucene_tokens("bm25s", word_text(text)) == tokenize(text)


def test_every_character_joins_or_separates_words_as_in_python() -> None:
    characters = [chr(code) for code in [*range(0x30000), *range(0x30000, sys.maxunicode + 1, 97)]]
    for start in range(0, len(characters), 20_000):
        text = " ".join(f"ab{character}cD x{character}" for character in characters[start : start + 20_000])
        assert lucene_tokens("bm25s", word_text(text)) == tokenize(text)


@pytest.mark.parametrize("separator", ["\x1c", "\x1d", "\x1e", "\x1f", "\x00", "\x85", "\u2028", "\ufeff", "\ud800"])
def test_what_separates_words_for_java_or_python_separates_them_on_both_sides(separator: str) -> None:
    assert found([f"left{separator}right", "other"], f"right{separator}left") == [0]
    assert lucene_tokens("bm25s", word_text(f"left{separator}right")) == ["left", "right"]


def test_decomposed_and_composed_letters_stay_different() -> None:
    assert found(["caf\u00e9", "cafe\u0301s"], "caf\u00e9") == [0]
    assert found(["caf\u00e9", "cafe\u0301s"], "cafe\u0301") == [1]


def test_characters_beyond_the_basic_plane_are_kept_apart() -> None:
    # Cut to 16 bits, the first two would be the same.
    assert found(["\U00010430\U00010431", "\u0430\u0431", "\U00020000\U00020001"], "\U00010430\U00010431") == [0]


@pytest.mark.parametrize("length", [254, 255, 256, 7_999, 8_000, 8_001, 40_000])
@pytest.mark.parametrize("letter", ["z", "é", "\U00010430"])
def test_long_tokens_match_only_themselves(length: int, letter: str) -> None:
    token = letter * length
    texts = [f"text {token} text", letter * (length - 1), letter * (length + 1), letter * 255, f"{token} {token}"]
    expected = [n for n, text in enumerate(texts) if token in tokenize(text)]
    assert found(texts, token) == expected


def test_stand_ins_for_long_tokens_equal_no_token() -> None:
    long = "q" * 8_001
    stand_in = joined_tokens(long)
    assert len(stand_in) < 255
    assert stand_in not in tokenize(f"{stand_in} {long}")
    assert found([long, stand_in, stand_in[1:]], long) == [0]
    assert joined_tokens("q" * 8_002) != stand_in


def test_a_long_word_that_is_no_token_changes_nothing() -> None:
    text = "a-b." * 10_000 + "wing" + "." * 10_000 + " The tip"
    assert lucene_tokens("bm25s", word_text(text)) == ["wing", "tip"]


def test_the_stop_words_of_both_sides_are_the_same() -> None:
    words = " ".join(stopwords())
    assert lucene_tokens("bm25s", word_text(f"{words} {words.upper()} then_ xthe")) == ["then_", "xthe"]


def test_texts_for_lucenes_analyzers_are_made_fit_for_java() -> None:
    assert clean_text("one\0two \ud83d \U0001f600") == "one two ? \U0001f600"


@pytest.mark.parametrize(
    ("analyzer", "expected"),
    [("lucene-english", ["run", "hors", "don't"]), ("lucene-standard", ["the", "running", "horses", "don't"])],
)
def test_lucenes_own_analyzers(analyzer: str, expected: list[str]) -> None:
    prepared = lucene_analyzer(analyzer).prepare("The running\0horses don't")
    assert lucene_tokens(analyzer, prepared) == expected
