"""Splitting text into tokens exactly as Lucene's StandardTokenizer does.

The rules are those of word segmentation in Unicode Standard Annex #29 (https://unicode.org/reports/tr29/), with
Lucene's own about what is a token at all, about emoji and about ideographs, and with its limit of token length. They
are written as one pattern over the classes of :mod:`autoindex_haystack.retrieval.lucene_analysis.word_break`.
"""

import re
from functools import cache

from autoindex_haystack.retrieval.lucene_analysis.word_break import classes_of

LONGEST = 255
"""UTF-16 code units after which Lucene cuts a token."""


@cache
def piece_pattern() -> re.Pattern[str]:
    """Returns the pattern that finds the pieces of a text: splitting each by itself gives the tokens of the text.

    Almost every piece of an English text is one token, and most occur often; so it is quick to find the pieces and to
    split each only once. No token reaches over an ASCII character other than letters, digits and ``_``, except for one
    of ``. : ' , ; "`` between two others. Beyond ASCII, a Hebrew word may end in ``'``, and keycap emoji begin with
    ``#`` or ``*``.
    """
    alone = "".join(chr(code) for code in _OFTEN_ALONE if classes_of(chr(code)) == "O")
    beyond_ascii = rf"[^\x00-\x7f{alone}]"
    inner = rf"[^\x00-/:-@\[-^`{{-\x7f{alone}]"
    more = f"(?:[.:',;\"]{inner}++)*+(?:(?<={beyond_ascii})')?+"
    return re.compile(f"{inner}++{more}|[#*]{beyond_ascii}{inner}*+{more}")


_OFTEN_ALONE = (*range(0x80, 0xC0), *range(0x2000, 0x2070), *range(0x3000, 0x3040))
"""Code points among which those of class O are frequent in text; a piece ends at them too."""


def split(text: str) -> list[str]:
    """Returns the tokens of a text, in order."""
    if text.isalnum() and text.isascii() and len(text) <= LONGEST:
        return [text]
    classes = classes_of(text)
    find = _token().finditer
    tokens: list[str] = []
    start, end = 0, len(text)
    while start < end:
        for match in find(classes, start):
            first, last = match.span()
            if last - first > LONGEST // 2 and _units(text[first:last]) > LONGEST:
                start = _cut(text, classes, first, last, tokens)
                break
            tokens.append(text[first:last])
        else:
            break
    return tokens


def _cut(text: str, classes: str, start: int, end: int, tokens: list[str]) -> int:
    """Find the tokens where one is too long: none sees further than the greatest length from its start.

    :param text: The text.
    :param classes: Its classes.
    :param start: Where the token starts.
    :param end: Where it would end.
    :param tokens: Takes the tokens found.
    :returns: Where to go on, not before ``end``.
    """
    match = _token().match
    while start < end:
        sight = start + LONGEST
        while (excess := _units(text[start:sight]) - LONGEST) > 0:
            # Every character has at most two units.
            sight = min(sight, len(text)) - (excess + 1) // 2
        found = match(classes, start, sight)
        if found is None:
            start += 1
        else:
            tokens.append(text[start : found.end()])
            start = found.end()
    return start


def _units(text: str) -> int:
    """Returns the length in UTF-16 code units."""
    return len(text) if text.isascii() else len(text) + sum(character > "\uffff" for character in text)


@cache
def _token() -> re.Pattern[str]:
    """Returns the pattern of one token, over classes; it finds the longest, in time in proportion to the text.

    Every rule begins with another class than the others, except for P, which begins a word and an emoji: the emoji is
    the longer one when another pictograph is joined to it.
    """
    x = "[BFMTVWXYZ]*+"  # UAX #29, WB4: these belong to what they follow.
    letters = f"[AP]{x}(?:[JLQ]{x}[AHP]{x})*+"
    hebrew = f"H{x}(?:(?:[JL]{x}[AHP]{x})(?:[JLQ]{x}[AHP]{x})*+|Q{x}|D{x}H{x})?+"
    digits = f"N{x}(?:[IJQ]{x}N{x})*+"
    core = f"(?:(?:{letters}|{hebrew}|{digits})++|(?:K{x})++)"
    low = "U[BFMTUVWXYZ]*+"
    # Without a limit, a long row of underscores would be read anew from each of them.
    word = f"(?:U[BFMTUVWXYZ]{{0,{LONGEST - 2}}}+)?+{core}(?:{low}{core})*+(?:{low})?+"

    mark = "[BFMTXYZ]*+"  # The same within an emoji, where variation selectors have a place of their own.
    toned = f"VZM{mark}"
    joined = f"{mark}(?:(?<=Z)|VZ++|{toned}(?<=Z))"
    joints = f"(?:{joined}[EP])*+"
    last = f"{mark}(?:V(?:ZM{mark})?+)?+"
    start = f"(?:E|Z{{1,{LONGEST - 1}}}+[EP])"
    tagged = f"{start}{mark}VY++F"
    pictograph = f"{start}{joints}{last}"
    letter_pictograph = f"P(?:{joined}P)*+{joined}E{joints}{last}"
    tone = f"M{mark}(?:(?<=Z)[EP]{joints}{last})?+"
    flag = f"R{x}R{x}"
    keycap = f"G(?:[FMTXYZ]*+VB|[FMTXYZ]*+B(?:{mark}VB)?+){mark}"

    emoji = f"{tagged}|{pictograph}|{tone}|{flag}|{keycap}"
    return re.compile(f"{letter_pictograph}|{word}|C{x}|[ST]{x}(?:S{x})*+|{emoji}")
