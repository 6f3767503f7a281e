"""The ``bm25s`` analyzer on bytes: chunk lengths and the postings of wanted terms, and no token as a Python object.

A token of ASCII characters is found by its bytes alone, eight of which are looked at together (Lamport: Multiple byte
processing with full-word instructions, CACM 18(8), 1975). From the first other character on, characters are decoded,
lowered and told apart by the table of :mod:`autoindex_haystack.evaluation.exact.characters`.
"""

import numpy as np

from autoindex_haystack.evaluation.exact.characters import (
    CASED,
    CODE,
    FINAL_SIGMA,
    IGNORED,
    LOWER_CASE,
    NOTHING,
    SEVERAL,
    SIGMA,
    SIGMAS,
    WORD,
)
from autoindex_haystack.evaluation.exact.compiled import compiled, load_word, trailing_zeros
from autoindex_haystack.evaluation.exact.term_table import (
    AS_IT_IS,
    COUNTED,
    FOLD,
    STOPPED,
    find_short,
    find_term,
    key_word,
)

_EACH = 0x0101010101010101
"""Times a byte: eight of it."""

_TOP, _LOW = np.uint64(0x80 * _EACH), np.uint64(0x7F * _EACH)
_UNDERSCORES = np.uint64(ord("_") * _EACH)
_FROM_A, _BEHIND_Z, _FROM_0, _BEHIND_9 = (
    np.uint64((0x80 - code) * _EACH) for code in (ord("a"), ord("z") + 1, ord("0"), ord("9") + 1)
)
"""What is added to a byte below 0x80 to set its top bit from that character on."""

_NOTHING_SHORTER = 2
"""Characters of the shortest token."""


@compiled
def _eight(data, at):  # type: ignore[no-untyped-def]
    """Eight bytes from a place on as uint64, zeros behind the last."""
    return load_word(data, at) if at + 8 <= len(data) else key_word(data, at, len(data), AS_IT_IS)


@compiled
def _word_characters(word):  # type: ignore[no-untyped-def]
    """The top bits of those of eight bytes that are ASCII letters, digits or underscores."""
    low = word & _LOW
    folded = low | FOLD
    letters = (folded + _FROM_A) & ~(folded + _BEHIND_Z)
    digits = (low + _FROM_0) & ~(low + _BEHIND_9)
    underscores = ~((low ^ _UNDERSCORES) + _LOW)
    return (letters | digits | underscores) & ~word & _TOP


@compiled
def _decode(data, at):  # type: ignore[no-untyped-def]
    """The character that begins at a byte: code point and number of bytes."""
    first = np.int64(data[at])
    if first < 0x80:
        return first, 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | np.int64(data[at + 1]) & 0x3F, 2
    if first < 0xF0:
        return (first & 0x0F) << 12 | (np.int64(data[at + 1]) & 0x3F) << 6 | np.int64(data[at + 2]) & 0x3F, 3
    high = (first & 0x07) << 18 | (np.int64(data[at + 1]) & 0x3F) << 12
    return high | (np.int64(data[at + 2]) & 0x3F) << 6 | np.int64(data[at + 3]) & 0x3F, 4


@compiled
def _encode(code, out, at):  # type: ignore[no-untyped-def]
    """Write a character in UTF-8, or as FOLD has it when it is ASCII; the place behind it."""
    if code < 0x80:
        out[at] = code | 0x20
        return at + 1
    if code < 0x800:
        out[at] = 0xC0 | code >> 6
        out[at + 1] = 0x80 | code & 0x3F
        return at + 2
    if code < 0x10000:
        out[at] = 0xE0 | code >> 12
        out[at + 1] = 0x80 | code >> 6 & 0x3F
        out[at + 2] = 0x80 | code & 0x3F
        return at + 3
    out[at] = 0xF0 | code >> 18
    out[at + 1] = 0x80 | code >> 12 & 0x3F
    out[at + 2] = 0x80 | code >> 6 & 0x3F
    out[at + 3] = 0x80 | code & 0x3F
    return at + 4


@compiled
def _is_final_sigma(data, at, start, end, table):  # type: ignore[no-untyped-def]
    """Whether the sigma at a byte ends a word: behind a cased character and before none (Unicode, Final_Sigma)."""
    before = at
    entry = np.uint32(IGNORED)
    while entry & IGNORED:
        if before == start:
            return False
        before -= 1
        while data[before] & 0xC0 == 0x80:
            before -= 1
        entry = table[_decode(data, before)[0]]
    if not entry & CASED:
        return False
    behind = at + 2
    while behind < end:
        code, width = _decode(data, behind)
        entry = table[code]
        if not entry & IGNORED:
            return not entry & CASED
        behind += width
    return True


@compiled
def _read_word(data, begin, start, end, table, out):  # type: ignore[no-untyped-def]
    """Read a word that may have any characters, from its first one on, and write it in lower case.

    :returns: Where to go on; its characters; its bytes in ``out``, more than that has if it is longer.
    """
    at, characters, size = begin, 0, 0
    while at < end:
        code, width = _decode(data, at)
        entry = table[code]
        if not entry & WORD:
            if not characters:
                at += width
            break
        lower = np.int64(entry & CODE)
        if code == SIGMA and _is_final_sigma(data, at, start, end, table):
            lower = np.int64(FINAL_SIGMA)
        if size + 4 <= len(out):
            size = _encode(lower, out, size)
        else:
            size = len(out) + 1
        characters += 1
        at += width
        if entry & SEVERAL:
            break
    return at, characters, size


@compiled
def _has_sigma(data, begin, end):  # type: ignore[no-untyped-def]
    for at in range(begin, end - 1):  # noqa: SIM110 - numba has no any()
        if data[at] == 0xCE and data[at + 1] == 0xA3:
            return True
    return False


@compiled
def scan_words(  # type: ignore[no-untyped-def]
    data, begins, ends, slots, sizes, starts, words, numbers, longest, terms, table, much, lengths, counts, found, times
):
    """Read chunks.

    :param data: uint8: UTF-8 that holds them.
    :param begins: int64, shape (chunks,): where each begins.
    :param ends: int64, shape (chunks,): where each ends.
    :param slots: The table of terms, with the following; see :class:`TermTable`.
    :param longest: Bytes of the longest entry.
    :param terms: Number of terms.
    :param table: Characters, see :func:`autoindex_haystack.evaluation.exact.characters.characters`.
    :param much: How much it knows.
    :param lengths: int32, shape (chunks,): takes the number of tokens of each chunk.
    :param counts: int32, shape (chunks,): takes the number of postings of each chunk.
    :param found: int32: takes the terms of the postings, chunk by chunk; room for one in three bytes is enough.
    :param times: int32: takes how often each occurs.
    :returns: The number of postings; or, negated, how much the table of characters must know, for another try.
    """
    scratch = np.empty(longest + 4, np.uint8)
    seen = np.zeros(terms, np.int32)
    total = 0
    for chunk in range(len(begins)):
        start, end = begins[chunk], ends[chunk]
        at = start
        tokens = 0
        first = total
        while at < end:
            begin = at
            word = _eight(data, at)
            inside = _word_characters(word)
            run = min(trailing_zeros(~inside & _TOP) >> 3, end - at)
            if not run and not word & np.uint64(0x80):
                at += max(1, trailing_zeros(inside | word & _TOP) >> 3)
                continue
            at += run
            whole = run == 8
            while whole and at < end:
                more = min(trailing_zeros(~_word_characters(_eight(data, at)) & _TOP) >> 3, end - at)
                at += more
                whole = more == 8
            if at < end and data[at] >= 0x80:
                if much == NOTHING:
                    return -LOWER_CASE
                at, characters, size = _read_word(data, begin, start, end, table, scratch)
                if much != SIGMAS and _has_sigma(data, begin, at):
                    return -SIGMAS
                if characters < _NOTHING_SHORTER:
                    continue
                if size > longest:
                    tokens += 1
                    continue
                term = find_term(scratch, 0, size, AS_IT_IS, slots, sizes, starts, words, numbers)
            else:
                size = at - begin
                at += 1  # What ends the word is part of none.
                if size < _NOTHING_SHORTER:
                    continue
                if run < 8:
                    key = (word | FOLD) & ((np.uint64(1) << np.uint64(8 * run)) - np.uint64(1))
                    term = find_short(key, size, slots, starts, words, numbers)
                elif size <= longest:
                    term = find_term(data, begin, begin + size, FOLD, slots, sizes, starts, words, numbers)
                else:
                    term = COUNTED
            if term == STOPPED:
                continue
            tokens += 1
            if term >= 0:
                if not seen[term]:
                    found[total] = term
                    total += 1
                seen[term] += 1
        lengths[chunk] = tokens
        counts[chunk] = total - first
        for i in range(first, total):
            times[i] = seen[found[i]]
            seen[found[i]] = 0
    return total
