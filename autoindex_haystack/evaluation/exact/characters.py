"""What Python knows of every character, as a table: its lower case, whether ``\\w`` matches, what a sigma makes of it.

The table is asked of Python itself, so that it agrees with the analyzer in every version of Unicode.
"""

import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

CODE = (1 << 21) - 1
"""The bits of an entry that hold the character's lower case, or the first character of it."""

WORD = 1 << 21
"""The lower case is a word character."""

SEVERAL = 1 << 22
"""The lower case has several characters, the first a word character and the second none: a word ends there."""

CASED = 1 << 23
"""Before or behind a sigma the character counts as cased."""

IGNORED = 1 << 24
"""The rule of the final sigma looks past the character."""

SIGMA, FINAL_SIGMA = 0x3A3, 0x3C2
"""The capital whose lower case depends on its neighbours, and the lower case it has at the end of a word."""


NOTHING, LOWER_CASE, SIGMAS = range(3)
"""How much a table knows: of no character; all but CASED and IGNORED; all. More takes longer to make."""

_PAGE = 256


@cache
def characters(much: int) -> NDArray[np.uint32]:
    """Make the table.

    :param much: How much it shall know.
    :returns: uint32, shape (0x110000,): an entry for each code point; of shape (0,) when it knows nothing.
    """
    if much == NOTHING:
        return np.empty(0, np.uint32)
    codes = np.arange(0x110000, dtype=np.uint32)
    codes[0xD800:0xE000] = ord(" ")  # Halves of surrogate pairs are no characters.
    several = _several(_text(codes))
    codes[list(several)] = list(several.values())
    if much == SIGMAS:
        return _with_contexts(codes)
    lower = _codes(_text(codes).lower())
    # In a row of all characters the sigma has neighbours; alone it is small and not final.
    lower[SIGMA] = ord("\u03a3".lower())
    table = lower.copy()
    for match in re.finditer(r"\w+", _text(lower)):
        table[match.start() : match.end()] |= WORD
    table[list(several)] |= SEVERAL
    return table


def _with_contexts(codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """With X for the character: the sigma in XΣ is final if X is cased and not ignored, that in aXΣ also if ignored."""
    table = characters(LOWER_CASE).copy()
    behind = _makes_final(codes, "")
    table[behind] |= CASED
    table[_makes_final(codes, "a") & ~behind] |= IGNORED
    return table


def _several(text: str) -> dict[int, int]:
    """The characters whose lower case is several characters, and the first of these."""
    found: dict[int, int] = {}
    for begin in range(0, len(text), _PAGE):
        page = text[begin : begin + _PAGE]
        if len(page.lower()) > len(page):
            found |= {begin + i: ord(c.lower()[0]) for i, c in enumerate(page) if len(c.lower()) > 1}
    return found


def _makes_final(codes: NDArray[np.uint32], before: str) -> NDArray[np.bool_]:
    """For each character, whether a sigma behind it is final when ``before`` stands in front of both."""
    rows = np.full((len(codes), len(before) + 3), ord("\n"), np.uint32)
    rows[:, : len(before)] = [ord(character) for character in before]
    rows[:, -3], rows[:, -2] = codes, SIGMA
    return np.asarray(_codes(_text(rows.ravel()).lower()).reshape(rows.shape)[:, -2] == FINAL_SIGMA)


def _text(codes: NDArray[np.uint32]) -> str:
    return codes.astype("<u4").tobytes().decode("utf-32-le")


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), "<u4").astype(np.uint32)
