"""Boilerplate: lines that many documents share say nothing about any of them.

It helps where every document carries the same notices, menus or source marks. Which lines they are is learned in
``calibrate`` by document frequency. The index gets smaller.
"""

from collections import Counter
from collections.abc import Container, Iterable

MOST_LINES = 5_000
LONGEST_LINE = 300


def learn_boilerplate(texts: Iterable[str], share: float) -> dict[str, int]:
    """Find the lines that occur in at least this share of the documents (and in 10 of them).

    :param texts: The texts of the corpus.
    :param share: The share of documents, 0 to 1.
    :returns: The lines without surrounding blanks and their document frequencies, the most frequent first, bounded in
        number.
    """
    frequency: Counter[str] = Counter()
    count = 0
    for text in texts:
        count += 1
        frequency.update({line.strip() for line in text.splitlines()})
        if count % 20_000 == 0:
            frequency = Counter({line: n for line, n in frequency.items() if n > 1})
    least = max(10, share * count)
    common = [line for line, n in frequency.items() if n >= least and line and len(line) <= LONGEST_LINE]
    common.sort(key=lambda line: (-frequency[line], line))
    return {line: frequency[line] for line in common[:MOST_LINES]}


def drop_lines(text: str, lines: Container[str]) -> str:
    """Leave out the lines that are boilerplate."""
    return "\n".join(line for line in text.splitlines() if line.strip() not in lines)
