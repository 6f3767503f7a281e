"""What each cure would do to a document's score, with idf, average length and all other documents held fixed."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from autoindex_haystack.collection import Document
from autoindex_haystack.evaluation.diagnosis.forms import forms_by_key, key
from autoindex_haystack.evaluation.diagnosis.postings import QueryPostings
from autoindex_haystack.evaluation.diagnosis.reasons import Reason
from autoindex_haystack.retrieval.analyzers import tokenize

_PARAGRAPH = re.compile(r"\n[ \t]*\n|\n(?=[A-Za-z][\w-]{0,40}:[ \t])")
_WINDOW = 100
"""Tokens of a part where a text has no paragraphs."""

_LABEL = 40
"""Characters of a part that name it."""


class Cures:
    """A query and a document, with what BM25 makes of them and what it would make of other representations.

    :param postings: The queries' terms in the program's chunks.
    :param terms: The query's terms in order, with repetitions.
    :param document: The raw document.
    :param number: Its ordinal; it has a chunk with a token.
    """

    def __init__(self, postings: QueryPostings, terms: Sequence[str], document: Document, number: int) -> None:
        self._postings = postings
        self._terms = terms
        self._title = str(document.metadata.get("title") or "")
        self._text = document.text
        chunks = postings.chunks_of(number)
        counts = {term: postings.frequencies(term, chunks) for term in dict.fromkeys(terms)}
        lengths = postings.postings.lengths[chunks]
        rows = [{term: float(row[i]) for term, row in counts.items()} for i in range(len(chunks))]
        scores = [self._score(row, float(length)) for row, length in zip(rows, lengths, strict=True)]
        best = int(np.argmax(scores))
        self.several = len(chunks) > 1
        self.score = scores[best]
        self.counts = rows[best]
        self.tokens = int(lengths[best])
        self._anywhere = {term for term, row in counts.items() if row.any()}

    @cached_property
    def terms(self) -> dict[str, dict[str, Any]]:
        """For each term its weight, its counts in the best chunk and in the raw document, and other forms there."""
        return {
            term: {
                "idf": self._postings.idf(term),
                "tf": int(self.counts[term]),
                "tf_document": self._whole[term],
                "forms": dict(self._forms(term).most_common(3)),
            }
            for term in self.counts
        }

    @cached_property
    def covered(self) -> float:
        """Share of the query's weight that the best chunk has."""
        return self._share(term for term, count in self.counts.items() if count)

    @cached_property
    def coverable(self) -> float:
        """Share of the query's weight that the document has in whatever form."""
        return self._share(t for t in self.counts if self.counts[t] or self._whole[t] or self._forms(t))

    @cached_property
    def scores(self) -> dict[Reason, float]:
        """The score that each cure would give; only cures that there are."""
        found: dict[Reason, float] = {}
        added = {term: float(self._whole[term]) for term in self.counts if term not in self._anywhere}
        if any(added.values()):
            counts = {term: count + added.get(term, 0.0) for term, count in self.counts.items()}
            found[Reason.DROPPED] = self._score(counts, self.tokens + sum(added.values()))
        others = {term: float(self._forms(term).total()) for term in self.counts if not self.counts[term]}
        if any(others.values()):
            counts = {term: count + others.get(term, 0.0) for term, count in self.counts.items()}
            found[Reason.VARIANT_FORM] = self._score(counts, self.tokens + sum(others.values()))
        if self.several:
            whole = {term: float(self._whole[term]) for term in self.counts}
            found[Reason.SPLIT] = self._score(whole, float(self._whole.total()))
        if self.tokens > self._postings.average:
            found[Reason.LENGTH] = self._score(self.counts, self._postings.average)
        if self._best_part:
            found[Reason.DROWNED] = self._best_part[0]
        return found

    @property
    def part(self) -> dict[str, Any] | None:
        """The part of the document that would score best as a chunk of its own: how it begins, and its tokens."""
        return self._best_part[1] if self._best_part else None

    @cached_property
    def _best_part(self) -> tuple[float, dict[str, Any]] | None:
        best: tuple[float, dict[str, Any]] | None = None
        for label, tokens in self._parts():
            counts = Counter(token for token in tokens if token in self.counts)
            if not counts or len(tokens) >= self.tokens:
                continue
            score = self._score(counts, len(tokens))
            if best is None or score > best[0]:
                best = (score, {"begins": " ".join(label.split())[:_LABEL], "tokens": len(tokens)})
        return best

    def _parts(self) -> Iterator[tuple[str, list[str]]]:
        """The title, the paragraphs or fields, and the windows of paragraphs that are long."""
        if self._title:
            yield self._title, self._tokens(self._title)
        for paragraph in _PARAGRAPH.split(self._text):
            tokens = self._tokens(paragraph)
            if len(tokens) <= 2 * _WINDOW:
                yield paragraph, tokens
                continue
            for start in range(0, len(tokens), _WINDOW):
                window = tokens[start : start + _WINDOW]
                yield " ".join(window[:8]), window

    @cached_property
    def _whole(self) -> Counter[str]:
        """The tokens of title and text."""
        return Counter(self._tokens(f"{self._title}\n{self._text}"))

    @cached_property
    def _keys(self) -> dict[str, Counter[str]]:
        return forms_by_key(f"{self._title}\n{self._text}")

    def _forms(self, term: str) -> Counter[str]:
        """The words of the document that are other forms of a term, when it does not have the term itself."""
        if self.counts[term] or self._whole[term]:
            return Counter()
        return self._keys.get(key(term), Counter())

    def _tokens(self, text: str) -> list[str]:
        return tokenize(text, self._postings.settings.analyzer)

    def _score(self, counts: Mapping[str, float], length: float) -> float:
        return sum(
            self._postings.idf(term) * self._postings.part(counts[term], length)
            for term in self._terms
            if counts.get(term)
        )

    def _share(self, terms: Iterator[str]) -> float:
        weights = {term: self._postings.idf(term) for term in self.counts}
        return sum(weights[term] for term in terms) / sum(weights.values())
