"""Texts in one buffer behave as a sequence of strings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.retrieval.texts import Utf8Texts

rows = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=8)


@given(rows, st.slices(8))
def test_it_is_a_sequence_of_texts(row, cut):
    texts = Utf8Texts.of(row)
    assert texts == row
    assert list(texts) == [texts[i] for i in range(len(texts))] == row
    assert texts[cut] == row[cut]
    assert texts.sizes.tolist() == [len(text.encode()) for text in row]
    assert texts.nbytes == len("".join(row).encode())
    assert Utf8Texts.of(texts) is texts


@given(st.lists(rows, max_size=4), st.randoms())
def test_texts_are_joined_and_taken_in_any_order(parts, random):
    whole = [text for part in parts for text in part]
    joined = Utf8Texts.joined([Utf8Texts.of(part) for part in parts])
    order = random.sample(range(len(whole)), len(whole))
    assert joined == whole
    assert joined.taken(np.array(order, np.int64)) == [whole[i] for i in order]


def test_negative_and_impossible_positions():
    texts = Utf8Texts.of(["a", "b"])
    assert texts[-1] == "b"
    with pytest.raises(IndexError):
        texts[2]
    assert texts != ["a"]
    assert texts != "ab"


@pytest.mark.parametrize(("data", "sizes"), [(b"\xff", [1]), ("é".encode(), [1, 1]), (b"a\xc3", [2])])
def test_what_is_no_utf_8_is_refused(data, sizes):
    with pytest.raises(UnicodeDecodeError):
        Utf8Texts.of_sizes(data, 0, np.array(sizes))
