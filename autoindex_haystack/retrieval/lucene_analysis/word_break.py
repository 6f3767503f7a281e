"""Which characters stick together: text as one letter of a class for each character.

The classes are those of word segmentation in Unicode Standard Annex #29, cut further where Lucene's StandardTokenizer
tells characters apart. It knows Unicode 12: characters that came later are of class O, or E where a place was kept.

========  =========================================================================================
A         letters, Hangul too
B         the enclosing keycap U+20E3
C         ideographs and Hiragana, each a token by itself
D         the double quote, within Hebrew words
E         pictographs
F         the end of a tag U+E007F
G         ``#`` and ``*``, which begin a keycap emoji
H         Hebrew letters
I         between digits: the comma and others
J         between letters and between digits: the full stop and others
K         Katakana
L         between letters: the colon and others
M         skin tones, which are pictographs and marks
N         digits
O         anything else
P         pictographs that are letters
Q         the apostrophe, which is like J and may end a Hebrew word
R         regional indicators, two of which are a flag
S, T      letters and marks of Southeast Asian scripts, whose words are not told apart
U         the underscore and others, which stick to letters, digits and Katakana
V, W      the variation selectors for emoji and for text
X, Y, Z   marks and format characters; tags; the zero-width joiner
========  =========================================================================================
"""

import re
from bisect import bisect_right
from functools import cache
from itertools import accumulate

from autoindex_haystack.retrieval.lucene_analysis.word_break_table import RUNS


def classes_of(text: str) -> str:
    """Returns the letter of the class of each character, as a text of the same length."""
    return text.translate(_classes())


class _Classes(dict[int, str]):
    """From code points to classes; filled as code points are met."""

    def __init__(self) -> None:
        super().__init__()
        runs: list[tuple[str, str]] = re.findall("([A-Z])([0-9a-z]*)", RUNS)
        self._letters = [letter for letter, _ in runs]
        self._starts = list(accumulate((int(length or "1", 36) for _, length in runs[:-1]), initial=0))

    def __missing__(self, code: int) -> str:
        letter = self._letters[bisect_right(self._starts, code) - 1]
        self[code] = letter
        return letter


@cache
def _classes() -> _Classes:
    return _Classes()
