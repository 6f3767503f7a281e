"""Make the table of ``autoindex_haystack.retrieval.lucene_analysis`` anew, by asking Lucene about every code point.

Run it after a change of Pyserini's version (it takes a minute)::

    .venv/bin/python scripts/make_word_break_table.py

Each class of characters has one member that is known to belong to it. A code point belongs to the class whose member is
split in the same way in all contexts below: texts in which ``@`` stands for the character and each other letter for
the member of its class. Together the contexts tell all classes apart; the script fails when a code point is like none.
"""

import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from pyserini_backend import jvm

CHECKOUT = Path(__file__).resolve().parent.parent
TARGET = CHECKOUT / "autoindex_haystack" / "retrieval" / "lucene_analysis" / "word_break_table.py"

MEMBERS = {
    "A": "a",  # letter
    "B": "\u20e3",  # enclosing keycap
    "C": "\u4e00",  # ideograph or Hiragana
    "D": '"',  # double quote
    "E": "\U0001f469",  # pictograph
    "F": "\U000e007f",  # end of a tag
    "G": "#",  # base of a keycap emoji
    "H": "\u05d0",  # Hebrew letter
    "I": ",",  # between digits
    "J": ".",  # between letters or digits
    "K": "\u30a2",  # Katakana
    "L": ":",  # between letters
    "M": "\U0001f3fb",  # emoji modifier
    "N": "1",  # digit
    "O": "!",  # anything else
    "P": "\u2139",  # pictograph that is a letter
    "Q": "'",  # apostrophe
    "R": "\U0001f1e6",  # regional indicator
    "S": "\u0e01",  # letter of a Southeast Asian script
    "T": "\u0e31",  # mark of a Southeast Asian script
    "U": "_",  # extends letters and digits
    "V": "\ufe0f",  # emoji presentation
    "W": "\ufe0e",  # text presentation
    "X": "\u0301",  # mark or format character
    "Y": "\U000e0067",  # tag
    "Z": "\u200d",  # zero-width joiner
}
FIRST_CONTEXTS = ("@", "A@", "A@A", "N@N", "H@H", "@R", "@B")
"""Enough to tell class O from all others."""

CONTEXTS = (
    "@X @V @W @B @ZE @VZE @MZE @@ @A A@ @N N@ @K K@ @S S@ @E E@ E@X A@A N@N H@H H@ U@ @U R@ R@R @R G@ EZ@ EV@ EVZ@ "
    "EVY@ EV@F @YF @VYF G@B HQ@ @Q @QA @DH @JA @JN @LA @IN"
).split()
SEPARATOR = "qzq"
"""A word between two contexts; no context has it."""

HEADER = '''"""Which class each code point belongs to for Lucene's StandardTokenizer, as runs of (class, length).

Made by ``scripts/make_word_break_table.py`` from the behaviour of Lucene {lucene}; the classes are explained in
:mod:`autoindex_haystack.retrieval.lucene_analysis.word_break`. A run is the letter of the class and, when longer than
one code point, its length in base 36. The runs follow each other from U+0000 on; the last one has no end.
"""

RUNS = (
'''


def main() -> None:
    """Ask Lucene and write the table."""
    everything = [chr(code) for code in range(1, sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    classes = dict.fromkeys(everything, "O")
    plain = behaviours([MEMBERS["O"]], FIRST_CONTEXTS)[0]
    seen = zip(everything, behaviours(everything, FIRST_CONTEXTS), strict=True)
    special = [character for character, behaviour in seen if behaviour != plain]
    known = dict(zip(behaviours(list(MEMBERS.values()), CONTEXTS), MEMBERS, strict=True))
    if len(known) < len(MEMBERS):
        msg = f"the contexts do not tell all classes apart; {set(MEMBERS) - set(known.values())} are like others"
        raise SystemExit(msg)
    for character, behaviour in zip(special, behaviours(special, CONTEXTS), strict=True):
        if behaviour not in known:
            msg = f"U+{ord(character):04X} is like no class; a class or a context is missing"
            raise SystemExit(msg)
        classes[character] = known[behaviour]
    TARGET.write_text(table(["O", *(classes.get(chr(code), "O") for code in range(1, sys.maxunicode + 1))]))


def behaviours(characters: Sequence[str], contexts: Sequence[str]) -> list[tuple[tuple[int, ...], ...]]:
    """Returns for each character the lengths of the tokens in each context."""
    frames = ["".join(MEMBERS.get(letter, letter) for letter in context) for context in contexts]
    found: list[tuple[tuple[int, ...], ...]] = []
    for start in range(0, len(characters), 20_000):
        part = characters[start : start + 20_000]
        texts = [frame.replace("@", character) for character in part for frame in frames]
        each = iter(token_lengths(texts))
        found += [tuple(next(each) for _ in frames) for _ in part]
    return found


def token_lengths(texts: Sequence[str]) -> list[tuple[int, ...]]:
    """Returns for each text the lengths of its tokens."""
    tokens = analyzed(f" {SEPARATOR} ".join([*texts, ""]))
    lengths: list[tuple[int, ...]] = []
    current: list[int] = []
    for token in tokens:
        if token == SEPARATOR:
            lengths.append(tuple(current))
            current = []
        else:
            current.append(len(token))
    if len(lengths) != len(texts):
        msg = f"{len(texts)} texts but {len(lengths)} answers"
        raise SystemExit(msg)
    return lengths


def analyzed(text: str) -> list[str]:
    """Returns the tokens of Lucene's StandardAnalyzer; its lower-casing keeps every length."""
    with jvm.java("the text cannot be analyzed"):
        analyzer: Any = jvm.java_class("org.apache.lucene.analysis.standard.StandardAnalyzer")()
        tokens = jvm.java_class("io.anserini.analysis.AnalyzerUtils").analyze(analyzer, text)
        # Java writes a list as [a, b]; no token has a blank.
        return str(tokens.toString())[1:-1].split(", ")


def table(classes: Sequence[str]) -> str:
    """Returns the module's source."""
    runs = [(letter, len(list(run))) for letter, run in groupby(classes)]
    words = [letter + (base_36(length) if length > 1 else "") for letter, length in runs[:-1]]
    lines, line = [], ""
    for word in [*words, runs[-1][0]]:
        if len(line) + len(word) > 112:
            lines.append(line)
            line = ""
        line += word
    body = "".join(f'    "{part}"\n' for part in [*lines, line])
    return HEADER.format(lucene=jvm.versions()["lucene"]) + body + ")\n"


def base_36(number: int) -> str:
    """Returns a positive number in base 36."""
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


if __name__ == "__main__":
    main()
