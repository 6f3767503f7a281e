"""What forecasts do not do twice gives the same as doing it anew."""

import json
from collections import Counter

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

TERMS = frozenset({"wing", "lift", "σ", "it's", "3.14", "o"})
PIECES = st.sampled_from(
    ["wing", "Wing's", "LIFT", "\n", "\n\n", " ", "ΟΔΟΣ", "'", ".", "3.14", "it's", "\u2028", "\r", "the"]
)


@pytest.mark.parametrize("analyzer", ANALYZER_NAMES)
@given(texts=st.lists(st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join), max_size=6))
@settings(max_examples=60)
def test_terms_are_counted_as_in_the_whole_text(analyzer, texts):
    counter = TermCounter(TERMS, analyzer)
    for text in texts * 2:
        tokens = tokenize(text, analyzer)
        length, counts = counter.count(text)
        assert (length, counts) == (len(tokens), {t: n for t, n in Counter(tokens).items() if t in TERMS})


def test_the_memory_of_lines_is_bounded(monkeypatch):
    monkeypatch.setattr(counting, "_MOST_CHARACTERS", 1_000)
    counter = TermCounter(TERMS, "bm25s")
    for i in range(50):
        assert counter.count(f"wing {i}\nlift") == (2 + (i > 9), {"wing": 1, "lift": 1})
        assert len(counter._known) <= 5


@given(st.sets(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5))
@settings(max_examples=30)
def test_a_thing_is_learned_alone_as_in_the_whole_program(names):
    recipe = compose(Recipe(), *(STEPS[name] for name in sorted(names)))
    whole = load_trusted(recipe).calibrate(list(DOCUMENTS))
    learning = Learning(DOCUMENTS)
    alone = {key: learning.learn(recipe, key) for key in expressions(recipe)}
    assert json.dumps(alone, sort_keys=True) == json.dumps(whole, sort_keys=True)
