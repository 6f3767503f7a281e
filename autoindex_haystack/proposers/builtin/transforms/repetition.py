"""Repetition: words and lines that a document says again and again.

Limiting how often a word counts helps against pages stuffed with their search terms, tables and logs; leaving out lines
that a document repeats but for their numbers helps in listings and exports. The index gets smaller.
"""

from collections import Counter

from autoindex_haystack.proposers.builtin.transforms.words import words_of

FEWEST_LINES = 4
SAME = str.maketrans({**dict.fromkeys("0123456789", "0"), **dict.fromkeys(" \t\r.,;:!?'\"-_*#|()[]{}<>/=+", None)})


def flatten(text: str, most: int) -> str:
    """Leave out every further occurrence of a word that stood there so many times; such texts lose their case."""
    found = words_of(text)
    left = {word: most for word, n in Counter(found).items() if n > most}
    if not left:
        return text
    kept = []
    for word in found:
        if word in left:
            if not left[word]:
                continue
            left[word] -= 1
        kept.append(word)
    return " ".join(kept)


def drop_repeated_lines(text: str) -> str:
    """Leave out the lines that differ from an earlier one in numbers, case, blanks and punctuation alone."""
    lines = text.split("\n")
    if len(lines) < FEWEST_LINES:
        return text
    seen: dict[str, str] = {}
    kept = []
    for line in lines:
        key = line.lower().translate(SAME)
        if not key or seen.setdefault(key, line) is line:
            kept.append(line)
    return "\n".join(kept) if len(kept) < len(lines) else text
