"""The Lucene analyzers on bytes: each distinct piece of text is analyzed once, by Python, and then known by its bytes.

A piece ends where no token goes on: at an ASCII character other than letters, digits and ``_``, except for one of
``. : ' , ; "`` before one of those or before a character beyond ASCII, a ``'`` behind such a character, and a ``#`` or
``*`` before one; see :func:`autoindex_haystack.retrieval.lucene_analysis.piece_pattern`. Pieces that differ only in
the case of ASCII letters have the same terms.
"""

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.exact.compiled import compiled
from autoindex_haystack.evaluation.exact.term_table import AS_IT_IS, FOLD, key_word, mixed

INNER, MIDDLE, APOSTROPHE, KEYCAP, BEYOND, BETWEEN = range(6)


def _kinds() -> NDArray[np.uint8]:
    kinds = np.full(256, BEYOND, np.uint8)
    for code in range(128):
        character = chr(code)
        kinds[code] = INNER if character.isalnum() or character == "_" else BETWEEN
    kinds[list(b'.:,;"')] = MIDDLE
    kinds[ord("'")] = APOSTROPHE
    kinds[list(b"#*")] = KEYCAP
    return kinds


_KINDS = _kinds()
"""Of each byte: what it is to a piece."""


@compiled
def _is_inner(data, at, end):  # type: ignore[no-untyped-def]
    return at < end and (_KINDS[data[at]] == INNER or _KINDS[data[at]] == BEYOND)


@compiled
def _next_piece(data, at, end):  # type: ignore[no-untyped-def]
    """The next piece from a byte on: its begin, its end, and whether it has a character beyond ASCII."""
    while at < end:
        if _is_inner(data, at, end):
            break
        if _KINDS[data[at]] == KEYCAP and at + 1 < end and _KINDS[data[at + 1]] == BEYOND:
            break
        at += 1
    begin = at
    beyond = False
    if at < end and _KINDS[data[at]] == KEYCAP:
        at += 1
    while at < end:
        kind = _KINDS[data[at]]
        if kind == BEYOND:
            beyond = True
        elif kind == MIDDLE:
            if not _is_inner(data, at + 1, end):
                break
        elif kind == APOSTROPHE:
            if not _is_inner(data, at + 1, end):
                if _KINDS[data[at - 1]] == BEYOND:
                    at += 1
                break
        elif kind != INNER:
            break
        at += 1
    return begin, at, beyond


@compiled
def _hash(data, begin, end, fold, seed):  # type: ignore[no-untyped-def]
    state = seed ^ np.uint64(end - begin)
    for at in range(begin, end, 8):
        state = mixed(state, key_word(data, at, end, fold))
    return state


@compiled
def _is_same(data, begin, end, fold, words, start):  # type: ignore[no-untyped-def]
    for at in range(begin, end, 8):
        if words[start] != key_word(data, at, end, fold):
            return False
        start += 1
    return True


@compiled
def find_pieces(  # type: ignore[no-untyped-def]
    data, begins, ends, seed, slots, sizes, starts, words, new_slots, stream, bounds, new_begins, new_ends
):
    """Cut chunks into pieces and look each up.

    :param slots: int32, a power of two many: the entry that is found at a hash, counted from 1; 0 for none.
    :param sizes: int32: bytes of each entry.
    :param starts: int64: where its bytes begin in ``words``, as :func:`key_word` has them.
    :param new_slots: int32, a power of two many, all 0: takes the same for pieces that are no entry yet.
    :param stream: int32: takes the entry of each piece, or ``~i`` for the i-th new piece.
    :param bounds: int64, shape (chunks + 1,): takes where the pieces of each chunk begin.
    :param new_begins: int64: takes where each new piece begins in ``data``.
    :param new_ends: int64: takes where it ends.
    :returns: How many new pieces there are, without repetitions.
    """
    total, new = 0, 0
    mask, new_mask = np.uint64(len(slots) - 1), np.uint64(len(new_slots) - 1)
    for chunk in range(len(begins)):
        bounds[chunk] = total
        at, stop = begins[chunk], ends[chunk]
        while True:
            begin, end, beyond = _next_piece(data, at, stop)
            if begin == stop:
                break
            at = end
            size = end - begin
            fold = AS_IT_IS if beyond else FOLD
            state = _hash(data, begin, end, fold, seed)
            slot = state & mask
            number = np.int64(-1)
            while slots[slot]:
                entry = slots[slot] - 1
                if sizes[entry] == size and _is_same(data, begin, end, fold, words, starts[entry]):
                    number = entry
                    break
                slot = (slot + np.uint64(1)) & mask
            if number < 0:
                slot = state & new_mask
                while new_slots[slot]:
                    other = new_slots[slot] - 1
                    if new_ends[other] - new_begins[other] == size and _are_same(
                        data, begin, end, fold, new_begins[other]
                    ):
                        break
                    slot = (slot + np.uint64(1)) & new_mask
                if not new_slots[slot]:
                    new_begins[new], new_ends[new] = begin, end
                    new += 1
                    new_slots[slot] = new
                number = -np.int64(new_slots[slot])
            stream[total] = number
            total += 1
    bounds[len(begins)] = total
    return new


@compiled
def _are_same(data, begin, end, fold, other):  # type: ignore[no-untyped-def]
    """Whether the same bytes stand elsewhere; ``fold`` suits both or they differ beyond ASCII."""
    for at in range(begin, end, 8):
        moved = at - begin + other
        if key_word(data, at, end, fold) != key_word(data, moved, other + end - begin, fold):
            return False
    return True


@compiled
def add_entries(  # type: ignore[no-untyped-def]
    data, begins, ends, new_tokens, new_firsts, new_wanted, longest, seed, count, slots, sizes, starts, words, tokens,
    firsts, wanted
):  # fmt: skip
    """Make entries of the pieces of at most ``longest`` bytes that are none yet, as long as there is room.

    A slot is written last, since other threads may be reading.

    :param count: How many entries there are.
    :returns: How many there are now.
    """
    mask = np.uint64(len(slots) - 1)
    for i in range(len(begins)):
        begin, end = begins[i], ends[i]
        size = end - begin
        if size > longest or count == len(sizes):
            continue
        beyond = False
        for byte in data[begin:end]:
            beyond |= byte >= 0x80
        fold = AS_IT_IS if beyond else FOLD
        slot = _hash(data, begin, end, fold, seed) & mask
        while slots[slot]:
            entry = slots[slot] - 1
            if sizes[entry] == size and _is_same(data, begin, end, fold, words, starts[entry]):
                break
            slot = (slot + np.uint64(1)) & mask
        if slots[slot]:
            continue
        place, to = starts[count], firsts[count]
        for at in range(begin, end, 8):
            words[place] = key_word(data, at, end, fold)
            place += 1
        for term in new_wanted[new_firsts[i] : new_firsts[i + 1]]:
            wanted[to] = term
            to += 1
        sizes[count], starts[count + 1] = size, place
        tokens[count], firsts[count + 1] = new_tokens[i], to
        count += 1
        slots[slot] = count
    return count


@compiled
def count_pieces(  # type: ignore[no-untyped-def]
    stream, bounds, tokens, firsts, wanted, new_tokens, new_firsts, new_wanted, terms, lengths, counts, found, times
):
    """Count the tokens of chunks, and the terms of queries among them.

    :param tokens: int32, shape (entries,): how many tokens each entry has.
    :param firsts: int64, shape (entries + 1,): where its terms of queries begin in ``wanted``, repetitions kept.
    :param new_tokens: The same for the new pieces, and so on.
    :param terms: How many terms the queries have.
    :returns: How many postings were found.
    """
    seen = np.zeros(terms, np.int32)
    total = 0
    for chunk in range(len(bounds) - 1):
        first, length = total, 0
        for number in stream[bounds[chunk] : bounds[chunk + 1]]:
            if number >= 0:
                length += tokens[number]
                row = wanted[firsts[number] : firsts[number + 1]]
            else:
                length += new_tokens[~number]
                row = new_wanted[new_firsts[~number] : new_firsts[~number + 1]]
            for term in row:
                if not seen[term]:
                    found[total] = term
                    total += 1
                seen[term] += 1
        lengths[chunk] = length
        counts[chunk] = total - first
        for i in range(first, total):
            times[i] = seen[found[i]]
            seen[found[i]] = 0
    return total
