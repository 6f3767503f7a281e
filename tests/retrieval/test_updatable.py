"""What an index that is changed in place is given, and how it is compared with what it shall hold."""

import numpy as np
import pytest

from autoindex_haystack.errors import BackendError
from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex, ChunkTable
from autoindex_haystack.retrieval.updatable import KeyedChunks, Snapshot, differences, open_updatable


def chunks(**texts):
    return KeyedChunks.of_texts(list(texts), list(texts.values()))


def snapshot_of(given):
    """A snapshot as an engine would give it, of chunks in the order of their documents."""
    names = sorted(set(given.document_ids))
    owners = np.array([names.index(name) for name in given.document_ids], np.int64)
    index = Bm25sIndex.build(ChunkTable(given.texts, owners, names), BM25Settings())
    return Snapshot(index, given.ids, given.positions, given.digests(), "", 0)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="2 ids, 2 document ids, 2 positions and 1 texts"):
        KeyedChunks(["a", "b"], ["a", "b"], np.zeros(2, np.int64), ["one"])


def test_an_id_may_occur_only_once():
    with pytest.raises(ValueError, match="same id"):
        KeyedChunks.of_texts(["a", "b", "a"], ["one", "two", "three"])


def test_rows_are_taken_in_the_order_asked_for():
    given = KeyedChunks(["a", "b", "c"], ["x", "x", "y"], np.array([1, 0, 0]), ["one", "two", "three"])
    taken = given.take([2, 0])
    assert (taken.ids, taken.document_ids, taken.positions.tolist(), taken.texts) == (
        ["c", "a"],
        ["y", "x"],
        [0, 1],
        ["three", "one"],
    )
    assert len(given.take([])) == 0


def test_digests_tell_texts_apart_whatever_they_hold():
    digests = chunks(a="one", b="two", c="", d="\ud800", e="one").digests().tolist()
    assert digests[0] == digests[4]
    assert len(set(digests)) == 4


def test_nothing_differs_between_an_index_and_what_it_holds():
    given = chunks(a="one", b="two")
    assert differences(snapshot_of(given), given.take([1, 0])) == ([], [])


def test_new_changed_moved_and_missing_chunks_are_found():
    before = KeyedChunks(["a", "b", "c", "d"], ["w", "x", "y", "z"], np.zeros(4, np.int64), ["1", "2", "3", "4"])
    after = KeyedChunks(["e", "c", "b", "a"], ["w", "y", "x", "v"], np.array([0, 7, 0, 0]), ["5", "3", "new", "1"])
    assert differences(snapshot_of(before), after) == ([0, 1, 2, 3], ["d"])


def test_an_engine_that_cannot_be_changed_in_place_says_so(tmp_path):
    with pytest.raises(BackendError, match="an index of bm25s cannot be changed in place"):
        open_updatable("bm25s", tmp_path, BM25Settings())
