"""Lucene's English and standard analyzers in Python, token by token the same, without Java.

A text is cut into pieces (:func:`piece_pattern`), and :func:`english_terms` or :func:`standard_terms` gives the terms
of a piece. This package knows nothing of indexes, and nothing of other analyzers.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

from autoindex_haystack.retrieval.lucene_analysis.filters import english_term, standard_term
from autoindex_haystack.retrieval.lucene_analysis.tokenizer import piece_pattern, split

__all__ = ["english_terms", "piece_pattern", "standard_terms"]

_KEPT = 1 << 17
"""Pieces and tokens whose terms are remembered."""
_LONGEST_KEPT = 64
"""Characters of a piece that is remembered: longer ones seldom come again."""


def _terms_by(make_term: Callable[[str], str | None]) -> Callable[[str], Sequence[str]]:
    """Returns the function from a piece to its terms; ``make_term`` gives that of a token, None if it has none."""
    term_of = lru_cache(_KEPT)(make_term)

    def terms(piece: str) -> Sequence[str]:
        tokens = split(piece)
        # The terms of a piece that is one token are remembered once.
        found = map(make_term if len(tokens) == 1 else term_of, tokens)
        return tuple(term for term in found if term is not None)

    remembered = lru_cache(_KEPT)(terms)
    return lambda piece: remembered(piece) if len(piece) <= _LONGEST_KEPT else terms(piece)


english_terms = _terms_by(english_term)
standard_terms = _terms_by(standard_term)
