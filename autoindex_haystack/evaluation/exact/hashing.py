"""A hash of each document's chunks, to know again what has been read before."""

import secrets

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.exact.compiled import compiled
from autoindex_haystack.evaluation.exact.term_table import AS_IT_IS, key_word
from autoindex_haystack.retrieval.texts import Utf8Texts

_SEEDS = np.array([secrets.randbits(64), secrets.randbits(64)], np.uint64)
"""New in every process: programs, which cannot see them, cannot make texts of the same hash."""

_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_SHIFT, _OTHER_SHIFT = np.uint64(29), np.uint64(32)


def hash_documents(counts: NDArray[np.uint32], texts: Utf8Texts) -> NDArray[np.uint64]:
    """Hash documents. The interpreter's lock is not held.

    :param counts: uint32, shape (documents,): chunks of each.
    :param texts: All chunks.
    :returns: uint64, shape (documents, 2): 128 bits for the chunks of each document and where they end.
    """
    hashes = np.empty((len(counts), 2), np.uint64)
    _hash(counts, texts.data, texts.bounds, _SEEDS, hashes)
    return hashes


@compiled
def _hash(counts, data, bounds, seeds, hashes):  # type: ignore[no-untyped-def]
    """Two hashes by multiplying and shifting, which treat each eight bytes in different ways."""
    chunk = 0
    for document in range(len(counts)):
        one, two = seeds[0], seeds[1]
        for _ in range(counts[document]):
            begin, end = bounds[chunk], bounds[chunk + 1]
            chunk += 1
            word = np.uint64(end - begin)
            at = begin
            while True:
                one = (one ^ word) * _FIRST
                one ^= one >> _SHIFT
                two = (two + word) * _SECOND
                two ^= two >> _OTHER_SHIFT
                if at >= end:
                    break
                word = key_word(data, at, end, AS_IT_IS)
                at += 8
        hashes[document, 0] = one
        hashes[document, 1] = two
