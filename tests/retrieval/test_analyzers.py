"""The bm25s analyzer is that of the bm25s package, on any text."""

import bm25s
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.retrieval.analyzers import has_token, stopwords, tokenize, tokenize_corpus

TRICKY = [
    "İstanbul",
    "ŒUVRE",
    "ß",
    "e\u0301te",
    "U.S.A",
    "don't",
    "3.14",
    "日本語",
    "a_b",
    "\u200bx y",
    "C R",
    "ﬁne",
    "x\x00y",
    "ǅ",
]
TEXT = st.text(st.characters(exclude_categories=["Cs"])) | st.lists(st.sampled_from([*TRICKY, "the", "wing"])).map(
    " ".join
)


def theirs(text: str) -> list[str]:
    return bm25s.tokenize([text], return_ids=False, show_progress=False)[0]


@given(TEXT)
def test_tokens_are_those_of_the_bm25s_package(text):
    assert tokenize(text) == theirs(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The Wing's lift, 3.14!", ["wing", "lift", "14"]),
        ("C and R in the U.S.A", []),
        ("don't", ["don"]),
        ("cafe\u0301 é ée", ["cafe", "ée"]),
        ("snake_case x1 1x", ["snake_case", "x1", "1x"]),
        ("日本語のテキスト", ["日本語のテキスト"]),
        ("", []),
    ],
)
def test_tokens_of_known_texts(text, tokens):
    assert tokenize(text) == tokens


@given(st.lists(TEXT, max_size=6))
def test_many_texts_are_numbered_as_one_by_one(texts):
    numbers, vocabulary = tokenize_corpus(texts)
    words = {number: word for word, number in vocabulary.items()}
    assert [[words[number] for number in row] for row in numbers] == [tokenize(text) for text in texts]
    assert sorted(words) == list(range(len(words)))


@given(TEXT)
def test_a_text_has_a_token_or_it_has_none(text):
    assert has_token(text) == bool(tokenize(text))


def test_there_are_33_stop_words():
    assert len(stopwords()) == 33
    assert {"the", "of", "and", "will"} < stopwords()


@pytest.mark.parametrize("function", [tokenize, has_token, lambda text, name: tokenize_corpus([text], name)])
def test_an_unknown_analyzer_is_refused(function):
    with pytest.raises(ValueError, match="unknown analyzer 'klingon'; known: bm25s"):
        function("text", "klingon")
