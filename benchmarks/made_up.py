"""A made-up corpus for benchmarks of speed: words by a Zipf law, the same for the same seed."""

import numpy as np

WORDS, LENGTH = 50_000, 120


def corpus(documents: int) -> list[str]:
    """Returns texts of about ``LENGTH`` words."""
    random = np.random.default_rng(0)
    chances = 1 / np.arange(10, WORDS + 10)
    words = np.array([f"w{i}" for i in range(WORDS)])
    lengths = random.integers(LENGTH // 2, LENGTH * 3 // 2, documents)
    drawn = words[random.choice(WORDS, lengths.sum(), p=chances / chances.sum())]
    return [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]


def questions(texts: list[str], number: int) -> list[str]:
    """Returns queries of five words that stand in a document."""
    random = np.random.default_rng(1)
    return [" ".join(random.choice(texts[i].split(), 5)) for i in random.integers(0, len(texts), number)]
