"""A table from the bytes of a token to the number of its term: hashed for speed, compared for certainty."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.exact.compiled import compiled, load_word

FOLD = np.uint64(0x2020202020202020)
"""Or-ed to eight ASCII word characters it lowers letters, keeps digits, and makes ``_`` the byte 127, which is none."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)

AS_IT_IS = np.uint64(0)
"""In place of FOLD for bytes that are folded already."""

COUNTED, STOPPED = -1, -2
"""What :func:`find_term` says of a token that is not wanted, and of a stop word."""


@compiled
def mixed(state, word):  # type: ignore[no-untyped-def]
    """One step of the hash of a token: state and word, both uint64, to the next state."""
    state = (state ^ word) * _MIX
    return state ^ (state >> _HALF)


@compiled
def key_word(data, begin, end, fold):  # type: ignore[no-untyped-def]
    """Up to eight bytes of a token as uint64, zeros above; ``fold`` is or-ed to each byte of it."""
    size = end - begin
    if size >= 8:
        return load_word(data, begin) | fold
    if begin + 8 <= len(data):
        mask = (np.uint64(1) << np.uint64(8 * size)) - np.uint64(1)
        return (load_word(data, begin) | fold) & mask
    word = AS_IT_IS
    for i in range(size):
        word |= (np.uint64(data[begin + i]) | (fold & np.uint64(255))) << np.uint64(8 * i)
    return word


@compiled
def find_term(data, begin, end, fold, slots, sizes, starts, words, numbers):  # type: ignore[no-untyped-def]
    """Look a token up: the number of its term, or COUNTED or STOPPED.

    A slot found by the hash counts only if size and bytes are the same.
    """
    size = end - begin
    state = np.uint64(size)
    for at in range(begin, end, 8):
        state = mixed(state, key_word(data, at, end, fold))
    mask = len(slots) - 1
    slot = np.int64(state & np.uint64(mask))
    while slots[slot] >= 0:
        entry = slots[slot]
        if sizes[entry] == size:
            place = starts[entry]
            same = True
            for at in range(begin, end, 8):
                if words[place] != key_word(data, at, end, fold):
                    same = False
                    break
                place += 1
            if same:
                return numbers[entry]
        slot = (slot + 1) & mask
    return COUNTED


@compiled
def find_short(key, size, slots, starts, words, numbers):  # type: ignore[no-untyped-def]
    """Look a token of fewer than eight bytes up: what :func:`find_term` says of it.

    :param key: Its bytes, folded, zeros above. No byte of a token is zero, so that no other has the same.
    :param size: How many they are.
    """
    mask = len(slots) - 1
    slot = np.int64(mixed(np.uint64(size), key) & np.uint64(mask))
    while slots[slot] >= 0:
        entry = slots[slot]
        if words[starts[entry]] == key:
            return numbers[entry]
        slot = (slot + 1) & mask
    return COUNTED


@compiled
def _insert(sizes, starts, words, slots):  # type: ignore[no-untyped-def]
    mask = len(slots) - 1
    for entry in range(len(sizes)):
        state = np.uint64(sizes[entry])
        for place in range(starts[entry], starts[entry + 1]):
            state = mixed(state, words[place])
        slot = np.int64(state & np.uint64(mask))
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = entry


@dataclass(frozen=True)
class TermTable:
    """Terms and stop words by their bytes, as arrays for compiled code.

    :param slots: int32, a power of two many: the entry that is found at a hash, -1 for none.
    :param sizes: int32, shape (entries,): bytes of each entry.
    :param starts: int32, shape (entries + 1,): where the words of each entry begin.
    :param words: uint64: the bytes of all entries, folded, each filled up with zeros.
    :param numbers: int32, shape (entries,): the number of the term, or STOPPED.
    :param longest: Bytes of the longest entry.
    """

    slots: NDArray[np.int32]
    sizes: NDArray[np.int32]
    starts: NDArray[np.int32]
    words: NDArray[np.uint64]
    numbers: NDArray[np.int32]
    longest: int

    @classmethod
    def of(cls, terms: Iterable[str], stop_words: Iterable[str] = ()) -> "TermTable":
        """Make a table.

        :param terms: The terms; their numbers count from 0.
        :param stop_words: Tokens that do not count.
        """
        entries = [*terms]
        numbers = list(range(len(entries)))
        for word in stop_words:
            entries.append(word)
            numbers.append(STOPPED)
        encoded = [bytes(byte | 0x20 if byte < 0x80 else byte for byte in entry.encode("utf-8")) for entry in entries]
        sizes = np.array([len(entry) for entry in encoded], np.int32)
        starts = np.zeros(len(encoded) + 1, np.int32)
        np.cumsum((sizes + 7) // 8, out=starts[1:])
        words = np.frombuffer(b"".join(entry.ljust(-len(entry) // 8 * -8, b"\0") for entry in encoded), np.uint64)
        slots = np.full(1 << max(10, (_SPARSE * len(entries)).bit_length()), -1, np.int32)
        _insert(sizes, starts, words, slots)
        return cls(slots, sizes, starts, words, np.array(numbers, np.int32), max(sizes, default=0))


_SPARSE = 8
"""Slots an entry, so that most tokens that are not wanted meet an empty one at once."""
