"""Compounds: ``database`` beside ``data base`` and the other way round, where the corpus writes both.

It helps where spelling wavers, in technical and medical text above all, and for identifiers written in one word. Which
words are compounds is learned in ``calibrate``: both parts, the whole and the two words side by side must occur. The
index grows by the compounds alone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise

from autoindex_haystack.proposers.builtin.transforms.words import words_of

SHORTEST_PART = 3
LONGEST_COMPOUND = 24
MOST_COMPOUNDS = 60_000


def learn_compounds(texts: Iterable[str], documents: int) -> dict[str, dict[str, str]]:
    """Learn the compounds that a corpus writes in one word and in two.

    :param texts: The texts of the corpus; read twice.
    :param documents: In how many documents the whole and the two words side by side must occur.
    :returns: ``parts``: compound to its two words; ``wholes``: two words with a blank to their compound. Bounded in
        number, the most frequent first.
    """
    read = list(texts)
    frequency: Counter[str] = Counter()
    for text in read:
        frequency.update(set(words_of(text)))
    usual = {word for word, n in frequency.items() if n >= documents and len(word) >= SHORTEST_PART}
    seconds: dict[str, set[str]] = defaultdict(set)
    for word in usual:
        if 2 * SHORTEST_PART <= len(word) <= LONGEST_COMPOUND and word.isalpha():
            for i in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1):
                if word[:i] in usual and word[i:] in usual:
                    seconds[word[:i]].add(word[i:])
    together: Counter[tuple[str, str]] = Counter()
    for text in read:
        found = words_of(text)
        together.update({(a, b) for a, b in pairwise(found) if a in seconds and b in seconds[a]})
    pairs = [pair for pair, n in together.items() if n >= documents]
    pairs.sort(key=lambda pair: (-frequency[pair[0] + pair[1]], pair))
    parts: dict[str, str] = {}
    for first, second in pairs[:MOST_COMPOUNDS]:
        parts.setdefault(first + second, f"{first} {second}")
    return {"parts": parts, "wholes": {two: whole for whole, two in parts.items()}}


def add_compounds(text: str, learned: Mapping[str, Mapping[str, str]]) -> str:
    """Append the two words for each compound, and the compound for the two words."""
    found = words_of(text)
    added = list(filter(None, map(learned["parts"].get, found)))
    added += filter(None, map(learned["wholes"].get, map(" ".join, pairwise(found))))
    return f"{text}\n{' '.join(added)}" if added else text
