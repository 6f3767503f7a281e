"""Known-item queries without a language model: what a title, a heading or a rare phrase says, asked for its document.

The line that a query comes from is taken out of the document, so that finding it again needs the rest of the text
(Azzopardi, de Rijke and Balog, "Building simulated queries for known-item topics", SIGIR 2007, sample words only; here
whole lines are the queries, as people who know a document remember them).
"""

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from autoindex_haystack.collection import Document
from autoindex_haystack.collection.importers import Query, Source
from autoindex_haystack.experiments.synthetic.lines import (
    headings,
    is_prose,
    normalized,
    sentences,
    without_lines,
    without_sentence,
)
from autoindex_haystack.experiments.synthetic.order import seeded_order
from autoindex_haystack.retrieval.analyzers import tokenize

HOW = "known-item queries from titles, headings and rare phrases of the documents themselves"

_FEWEST, _MOST = 2, 12
"""Terms of a query."""

_LEFT = 10
"""Terms that a document must have beside the line that becomes the query."""

_PHRASE = 7
"""Words in a row of a query that comes from a sentence."""

_PUNCTUATION = ".,;:!?()[]{}\"'\u201c\u201d\u2018\u2019"

_LONGEST = 200_000
"""Characters of a document that are looked at."""


@dataclass(frozen=True)
class _Item:
    """A query and its document without the line that the query comes from."""

    query: str
    document: Document


def known_items(documents: Sequence[Document], number: int, seed: int = 0) -> Source:
    """Make queries, each judged relevant for one document.

    :param documents: The corpus; it is read three times.
    :param number: How many queries at most; fewer when the corpus has no more lines that can be one.
    :param seed: Another seed gives other queries.
    :returns: The collection: the corpus with the lines taken out that became queries, and the queries.
    """
    statistics = _Statistics.of(documents)
    made: dict[int, _Item] = {}
    kinds = Counter(dict.fromkeys(_KINDS, 0))
    asked: set[str] = set()
    for place in seeded_order(documents, seed):
        if len(made) == number:
            break
        document = documents[place]
        # The kind that was used least so far goes first, so that the queries are a mixture.
        for kind, _ in sorted(kinds.items(), key=lambda item: item[1]):
            item = _KINDS[kind](document, statistics)
            if item is not None and normalized(item.query) not in asked:
                asked.add(normalized(item.query))
                kinds[kind] += 1
                made[place] = item
                break
    queries = {f"s{i:0{len(str(number))}}": (place, made[place]) for i, place in enumerate(sorted(made), start=1)}
    return Source(
        origin=_origin(kinds, seed),
        documents=_masked(documents, made),
        queries={name: Query(item.query, {documents[place].doc_id: 1}) for name, (place, item) in queries.items()},
        synthetic=HOW,
    )


def _origin(kinds: Counter[str], seed: int) -> str:
    counts = ", ".join(f"{count} from {kind}" for kind, count in kinds.items())
    return (
        f"**Synthetic queries**: {HOW} ({counts}; seed {seed}). Each is judged relevant for one document, from which "
        "its line was taken out; all other documents count as wrong, though some may answer it too."
    )


def _masked(documents: Sequence[Document], made: dict[int, _Item]) -> Iterator[Document]:
    for place, document in enumerate(documents):
        yield made[place].document if place in made else document


@dataclass(frozen=True)
class _Statistics:
    """What is common in the corpus.

    :param documents: How many documents there are.
    :param frequency: How many documents a term stands in.
    :param lines: How many documents have a title or heading, by its normalized text.
    """

    documents: int
    frequency: Counter[str]
    lines: Counter[str]

    @classmethod
    def of(cls, documents: Sequence[Document]) -> "_Statistics":
        """Count over the whole corpus."""
        frequency: Counter[str] = Counter()
        lines: Counter[str] = Counter()
        for document in documents:
            text = document.text[:_LONGEST]
            frequency.update(set(tokenize(text)))
            named = {normalized(line) for line in headings(text)}
            lines.update({*named, normalized(_title(document))})
        return cls(len(documents), frequency, lines)

    def rarity(self, term: str) -> float:
        """BM25's idf."""
        count = self.frequency[term]
        return math.log(1 + (self.documents - count + 0.5) / (count + 0.5))

    def tells_apart(self, line: str) -> bool:
        """Whether only one document has this title or heading."""
        return self.lines[normalized(line)] <= 1


def _title(document: Document) -> str:
    return str(document.metadata.get("title") or "")


def _from_title(document: Document, statistics: _Statistics) -> _Item | None:
    title = _title(document)
    if not title or not statistics.tells_apart(title):
        return None
    rest = {name: value for name, value in document.metadata.items() if name != "title"}
    return _item(title, replace(document, text=without_lines(document.text, title), metadata=rest))


def _from_heading(document: Document, statistics: _Statistics) -> _Item | None:
    title = normalized(_title(document))
    for heading in headings(document.text[:_LONGEST]):
        if normalized(heading) == title or not statistics.tells_apart(heading):
            continue
        item = _item(heading, replace(document, text=without_lines(document.text, heading)))
        if item is not None:
            return item
    return None


def _from_phrase(document: Document, statistics: _Statistics) -> _Item | None:
    """The words in a row that say most, out of the sentence that has them."""
    counts = Counter(tokenize(document.text[:_LONGEST]))
    found: list[tuple[float, int, str, str]] = []
    for place, sentence in enumerate(sentences(document.text[:_LONGEST])):
        if is_prose(sentence):
            score, phrase = _best_phrase(sentence, counts, statistics)
            found.append((score, -place, phrase, sentence))
    for _, _, phrase, sentence in heapq.nlargest(3, found):
        item = _item(phrase, replace(document, text=without_sentence(document.text, sentence)))
        if item is not None:
            return item
    return None


def _best_phrase(sentence: str, counts: Counter[str], statistics: _Statistics) -> tuple[float, str]:
    """Find so many words in a row with the greatest rarity; a word that is never said again counts as common.

    :returns: The rarity, and the words without stop words at their ends.
    """
    words = [word.strip(_PUNCTUATION) for word in sentence.split()]
    terms = [tokenize(word) for word in words]
    again = [[t for t in found if statistics.frequency[t] > 1 or counts[t] > 1] for found in terms]
    worth = [sum(map(statistics.rarity, found)) for found in again]
    rows = max(1, len(words) - _PHRASE + 1)
    score, first = max((sum(worth[i : i + _PHRASE]), -i) for i in range(rows))
    kept = range(-first, min(len(words), _PHRASE - first))
    said = [i for i in kept if terms[i]] or [0]
    return score, " ".join(words[said[0] : said[-1] + 1])


_KINDS: dict[str, Callable[[Document, _Statistics], _Item | None]] = {
    "titles": _from_title,
    "headings": _from_heading,
    "phrases": _from_phrase,
}


def _item(query: str, document: Document) -> _Item | None:
    """Pair a query with its masked document, if the task can be done and is not trivial."""
    terms = set(tokenize(query))
    if not _FEWEST <= len(terms) <= _MOST:
        return None
    left = tokenize(f"{_title(document)} {document.text[:_LONGEST]}")
    if len(left) < _LEFT or not terms.intersection(left):
        return None
    return _Item(" ".join(query.split()), document)
