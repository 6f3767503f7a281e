"""Variants: other spellings of a word beside it, for queries that use the other one.

Identifiers split into their words help on source code and technical reference; joined hyphens and letters without
accents help where spelling varies. The index grows by the number of words that have a variant.
"""

import re
import unicodedata

IDENTIFIER = re.compile(r"\b(?=\w*[a-z0-9][A-Z]|\w*[A-Z][A-Z][a-z]|\w*[^\W_]_[^\W_])[A-Za-z_]\w{2,80}\b")
WITH_DIGITS = re.compile(r"\b(?=[^\W_]*[A-Za-z]{2}\d|[^\W_]*\d[A-Za-z]{2})[^\W_]{3,40}\b")
DOTTED = re.compile(r"\b[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+")
IDENTIFIER_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
HYPHENATED = re.compile(r"\b[^\W\d_]+(?:[-\u2010\u2011][^\W\d_]+)+\b")
HYPHEN = re.compile(r"[-\u2010\u2011]")
WHOLE_WORD = re.compile(r"\w+")
NOT_ASCII = re.compile(r"\b\w*[^\x00-\x7f]\w*\b")


def add_identifier_parts(text: str, *, digits: bool = False, dotted: bool = False) -> str:
    """Append the words of each camelCase or snake_case identifier; with ``digits`` also those of ``python3``.

    With ``dotted`` also the names in ``os.path``, ``std::map`` and ``a->next``, which some analyzers keep together.
    """
    # Most words are plain: only the others are worth a look by regular expressions.
    odd = " ".join([word for word in text.split() if "_" in word or not (word.islower() or word[1:].islower())])
    names = IDENTIFIER.findall(odd)
    if digits:
        mixed = " ".join([word for word in text.split() if not (word.isalpha() or word.isdigit())])
        names += WITH_DIGITS.findall(mixed)
    parts = [part for name in names for part in IDENTIFIER_PART.findall(name)]
    if dotted:
        joined = " ".join([word for word in text.split() if "." in word or ":" in word or "->" in word])
        parts += [part for name in DOTTED.findall(joined) for part in re.findall(r"\w+", name)]
    return f"{text}\n{' '.join(parts)}" if parts else text


def add_joined_hyphens(text: str) -> str:
    """Append hyphenated words written as one word."""
    words = [word for word in text.split() if "-" in word or not word.isascii()]
    joined = [HYPHEN.sub("", word) for word in HYPHENATED.findall(" ".join(words))]
    return f"{text}\n{' '.join(joined)}" if joined else text


def add_plain_letters(text: str) -> str:
    """Append words with accents, ligatures or decomposed letters in their plain and in their composed form."""
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFC", text)
    present = set(WHOLE_WORD.findall(text))
    variants = []
    for word in NOT_ASCII.findall(composed):
        letters = unicodedata.normalize("NFKD", word)
        bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
        plain = unicodedata.normalize("NFC", bare)
        variants += [form for form in dict.fromkeys((plain, word)) if form and form not in present]
    return f"{text}\n{' '.join(variants)}" if variants else text
