"""What forecasts do not do twice gives the same as doing it anew."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoindex_haystack.proposers.builtin import counting
from autoindex_haystack.proposers.builtin.counting import TermCounter
from autoindex_haystack.proposers.builtin.learning import Learning, expressions
from autoindex_haystack.proposers.builtin.library import compose
from autoindex_haystack.proposers.builtin.recipe import Recipe
from autoindex_haystack.proposers.builtin.trusted import load_trusted
from autoindex_haystack.retrieval.analyzers import ANALYZER_NAMES, tokenize

from .test_render import DOCUMENTS, STEPS

TERMS = ["wing", "lift", "σ", "it's", "3.14", "o", "ab"]
SMALL, LARGE = 0, 1 << 30
PIECES = st.sampled_from(
    ["wing", "Wing's", "LIFT", "\n", "\n\n", " ", "ΟΔΟΣ", "\ud800", "'", ".", "3.14", "it's", "\u2028", "\r", "the"]
)


def counted(counter, texts):
    """For each text the number of its tokens and how often each term occurs."""
    found = counter.count(texts)
    ends = np.cumsum(found.counts)
    rows = zip(found.lengths.tolist(), (ends - found.counts).tolist(), ends.tolist(), strict=True)
    terms, times = [TERMS[term] for term in found.terms], found.times.tolist()
    return [(length, dict(zip(terms[a:b], times[a:b], strict=True))) for length, a, b in rows]


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("analyzer", ANALYZER_NAMES)
@given(texts=st.lists(st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join), max_size=6))
@settings(max_examples=40)
def test_terms_are_those_of_the_analyzer_however_they_are_counted(analyzer, size, texts):
    counter = TermCounter(TERMS, analyzer, size)
    tokens = [tokenize(text, analyzer) for text in texts]
    expected = [(len(row), {t: n for t, n in Counter(row).items() if t in TERMS}) for row in tokens]
    assert counted(counter, texts) == expected
    assert counted(counter, texts) == expected


def test_the_memory_of_lines_is_bounded(monkeypatch):
    monkeypatch.setattr(counting, "_MOST_CHARACTERS", 1_000)
    counter = TermCounter(TERMS, "bm25s", SMALL)
    for i in range(50):
        assert counted(counter, [f"wing {i}\nlift"]) == [(2 + (i > 9), {"wing": 1, "lift": 1})]
        assert len(counter._python._known) <= 5


@given(st.sets(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5))
@settings(max_examples=30)
def test_a_thing_is_learned_alone_as_in_the_whole_program(names):
    recipe = compose(Recipe(), *(STEPS[name] for name in sorted(names)))
    whole = load_trusted(recipe).calibrate(list(DOCUMENTS))
    learning = Learning(DOCUMENTS)
    alone = {key: learning.learn(recipe, key) for key in expressions(recipe)}
    assert json.dumps(alone, sort_keys=True) == json.dumps(whole, sort_keys=True)
