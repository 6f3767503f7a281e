"""Lengths: what BM25's length normalization makes of short documents.

A record of a few words outranks a full one as soon as it has one word of the query. Where such records are many (names
without a description, stubs), bringing them up to a usual length with a filler word that nobody searches for puts
that right. It costs the fillers' bytes, and hurts where the short documents are the relevant ones.
"""

from collections.abc import Iterable

FILLER = "zqzq "
MOST_FILLED = 5_000
"""Words that texts are brought up to at most."""


def learn_length(texts: Iterable[str], share: float) -> int:
    """Find the number of words that this share of the documents does not reach.

    :param texts: The texts of the corpus.
    :param share: The share of documents, 0 to 1.
    :returns: The number of words, bounded.
    """
    lengths = sorted(len(text.split()) for text in texts)
    return min(MOST_FILLED, lengths[min(len(lengths) - 1, int(share * len(lengths)))]) if lengths else 0


def pad(text: str, length: int, times: int) -> str:
    """Append so many fillers for each word that a text lacks to the length."""
    missing = length - len(text.split(None, length))
    return f"{text}\n{FILLER * (missing * times)}" if missing > 0 else text
