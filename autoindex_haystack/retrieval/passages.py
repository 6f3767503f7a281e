"""The piece of a text that shows why a query found it."""

from bisect import bisect_left

from autoindex_haystack.retrieval.analyzers import pieces, tokenize

_SEARCHED = 200_000
"""Characters of a text that are looked at."""


def passage_start(text: str, query: str, length: int, analyzer: str) -> int:
    """Find where the piece with the most different words of a query begins.

    :param text: The text.
    :param query: The query.
    :param length: About how many characters of the text will be shown.
    :param analyzer: The analyzer that found it.
    :returns: Offset of the piece, at the beginning of a word; 0 when nothing matches.
    """
    words = set(tokenize(query, analyzer))
    cut = pieces(text[:_SEARCHED], analyzer)
    found = [(start, piece) for start, piece in cut if not words.isdisjoint(tokenize(piece, analyzer))]
    starts = [start for start, _ in found]
    best, most = 0, 0
    for i, start in enumerate(starts):
        end = bisect_left(starts, start + length * 3 // 4)
        different = len({token.lower() for _, token in found[i:end]})
        if different > most:
            best, most = start, different
    begin = max(0, best - length // 8)
    return text.find(" ", begin, best) + 1 or best if begin else 0
