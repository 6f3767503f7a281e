"""How relevant documents that are missed differ from wrong ones that are ranked: the evidence for proposals.

Everything is measured on the validation queries alone, as the share of a query's terms, weighted by their rarity, that
a text covers.
"""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from autoindex_haystack.collection import ids_of
from autoindex_haystack.evaluation.metrics import DEPTH
from autoindex_haystack.evaluation.objective import Objective
from autoindex_haystack.proposers.base import CollectionView
from autoindex_haystack.proposers.builtin.profile import SPLITTERS, Profile, sample
from autoindex_haystack.proposers.builtin.transforms import (
    abbreviations,
    compounds,
    latex,
    layout,
    numbers,
    variants,
)
from autoindex_haystack.retrieval.analyzers import tokenize
from autoindex_haystack.retrieval.porter import porter_stem

_MOST_QUERIES = 150
_MOST_DOCUMENTS = 5
_STATISTICS_SAMPLE = 2_000
_LONGEST_TEXT = 40_000
_TOP = 10

ADDITIONS: dict[str, Callable[[str], str]] = {
    "identifiers": variants.add_identifier_parts,
    "hyphens": variants.add_joined_hyphens,
    "letters": variants.add_plain_letters,
    "latex": latex.spell_latex,
    "numbers": numbers.add_number_forms,
}
"""Transforms whose gain in covered query terms is measured by applying them."""

_DOCUMENTS = 2
"""In how many documents of the sample the additions that are learned must occur."""


@dataclass(frozen=True)
class Contrast:
    """What sets missed relevant documents apart.

    :param missed: How many relevant documents are not in the first 100; the first 10 where nDCG@10 is maximized.
    :param relevant: How many relevant documents were looked at.
    :param forms: Share of the query that only other word forms of a missed document cover.
    :param gains: The same for each transform of :data:`ADDITIONS`, and for those that learn what they add.
    :param stuffing: How often wrong documents say a term of the query relative to relevant ones.
    :param length: Median length of missed documents relative to wrong ones.
    :param lifts: How much better a part of the text sets relevant from wrong documents apart than the whole does, by
        field name; ``*title`` and ``*lead`` are the title and the first 50 words. 1 is as good as the whole.
    :param covers: Share of the query that the part covers in relevant documents.
    """

    missed: int = 0
    relevant: int = 0
    forms: float = 0.0
    gains: dict[str, float] = field(default_factory=dict)
    stuffing: float = 1.0
    length: float = 1.0
    lifts: dict[str, float] = field(default_factory=dict)
    covers: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _Pair:
    """A query and a document."""

    terms: dict[str, float]
    title: str
    text: str
    analyzer: str

    def words(self, text: str) -> list[str]:
        """Returns the tokens of a text as the retriever sees them."""
        return tokenize(text, self.analyzer)


def contrast_documents(
    view: CollectionView,
    rankings: Mapping[str, Sequence[tuple[str, float]]],
    profile: Profile,
    objective: Objective = "recall@100",
) -> Contrast:
    """Compare relevant and wrong documents of the validation queries.

    :param view: The collection.
    :param rankings: The incumbent's rankings of the validation queries.
    :param profile: The corpus's profile.
    :param objective: What the search maximizes: where that is nDCG@10, what is not in the first 10 counts as missed.
    :returns: The contrast.
    """
    missed, relevant, wrong = _pairs(view, rankings, profile, _TOP if objective == "ndcg@10" else DEPTH)
    hard = missed or relevant
    if not hard or not wrong:
        return Contrast(missed=len(missed), relevant=len(relevant))
    parts = _parts(profile)
    whole = _lift(_mean_cover(relevant, lambda pair: pair.text), _mean_cover(wrong, lambda pair: pair.text))
    covers = {name: _mean_cover(relevant, part) for name, part in parts.items()}
    lifts = {name: _lift(covers[name], _mean_cover(wrong, part)) / whole for name, part in parts.items()}
    return Contrast(
        missed=len(missed),
        relevant=len(relevant),
        forms=_mean(_forms_gain(pair) for pair in hard),
        gains={name: _mean(_addition_gain(pair, add) for pair in hard) for name, add in _additions(view).items()},
        stuffing=_mean(map(_frequency, wrong)) / max(1.0, _mean(map(_frequency, relevant))),
        length=_median_words(hard) / _median_words(wrong),
        lifts=lifts,
        covers=covers,
    )


def _pairs(
    view: CollectionView, rankings: Mapping[str, Sequence[tuple[str, float]]], profile: Profile, depth: int
) -> tuple[list[_Pair], list[_Pair], list[_Pair]]:
    """Collect missed relevant, all relevant, and wrongly ranked documents, a few for each query."""
    ordinals = {document_id: i for i, document_id in enumerate(ids_of(view.documents))}
    weights = _weights(view)
    missed, relevant, wrong = [], [], []
    for query in sorted(view.queries)[:_MOST_QUERIES]:
        terms = {term: weights(term) for term in dict.fromkeys(tokenize(view.queries[query], view.analyzer))}
        if not terms:
            continue
        grades = view.qrels[query]
        ranked = [document for document, _ in rankings.get(query, ())]
        right = sorted(document for document, grade in grades.items() if grade > 0 and document in ordinals)

        def pair(document_id: str, terms: dict[str, float] = terms) -> _Pair:
            document = view.documents[ordinals[document_id]]
            text = document.text[:_LONGEST_TEXT]
            title = str(document.metadata.get("title") or "") or profile.derived_title(text)
            return _Pair(terms, title, text, view.analyzer)

        lost = [document for document in right if document not in set(ranked[:depth])]
        missed += [pair(document) for document in lost[:_MOST_DOCUMENTS]]
        relevant += [pair(document) for document in right[:_MOST_DOCUMENTS]]
        wrong += [pair(document) for document in ranked[:20] if grades.get(document, 0) <= 0][:_MOST_DOCUMENTS]
    return missed, relevant, wrong


def _additions(view: CollectionView) -> dict[str, Callable[[str], str]]:
    """The transforms to apply, those that learn having learned from a sample of the corpus."""
    texts = [document.text[:_LONGEST_TEXT] for document in sample(view.documents, _STATISTICS_SAMPLE)]
    joined = compounds.learn_compounds(texts, _DOCUMENTS)
    defined = abbreviations.learn_abbreviations(texts, _DOCUMENTS)
    return {
        **ADDITIONS,
        "compounds": lambda text: compounds.add_compounds(text, joined),
        "abbreviations": lambda text: abbreviations.add_abbreviations(text, defined),
    }


def _weights(view: CollectionView) -> Callable[[str], float]:
    """Make the rarity of a term from a sample of the corpus: BM25's idf."""
    seen = sample(view.documents, _STATISTICS_SAMPLE)
    frequency = Counter(
        token for document in seen for token in set(tokenize(document.text[:_LONGEST_TEXT], view.analyzer))
    )

    def weight(term: str) -> float:
        return math.log(1 + (len(seen) - frequency[term] + 0.5) / (frequency[term] + 0.5))

    return weight


def _parts(profile: Profile) -> dict[str, Callable[[_Pair], str]]:
    """The parts of a text whose worth is measured."""
    parts: dict[str, Callable[[_Pair], str]] = {
        "*title": lambda pair: pair.title,
        "*lead": lambda pair: layout.lead(pair.text, 50),
    }
    if profile.markup:
        split = SPLITTERS[profile.markup]
        for name in profile.field_shares:
            parts[name] = lambda pair, name=name: "\n".join(v for f, v in split(pair.text) if f == name)  # type: ignore[misc]
    return parts


def _cover(terms: Mapping[str, float], words: Iterable[str]) -> float:
    found = set(words)
    return sum(weight for term, weight in terms.items() if term in found) / sum(terms.values())


def _mean_cover(pairs: Sequence[_Pair], part: Callable[[_Pair], str]) -> float:
    return _mean(_cover(pair.terms, pair.words(part(pair))) for pair in pairs)


def _forms_gain(pair: _Pair) -> float:
    """Share of the query that the text covers by other forms only."""
    words = set(pair.words(f"{pair.title}\n{pair.text}"))
    stems = {porter_stem(word) for word in words}
    return sum(weight for term, weight in pair.terms.items() if term not in words and porter_stem(term) in stems) / sum(
        pair.terms.values()
    )


def _addition_gain(pair: _Pair, add: Callable[[str], str]) -> float:
    text = f"{pair.title}\n{pair.text}"
    changed = add(text)
    return 0.0 if changed == text else _cover(pair.terms, pair.words(changed)) - _cover(pair.terms, pair.words(text))


def _frequency(pair: _Pair) -> float:
    """How often a document says a term of the query, for the terms that it says at all."""
    counts = Counter(word for word in pair.words(pair.text) if word in pair.terms)
    return _mean(counts.values())


def _lift(right: float, wrong: float) -> float:
    return (right + 0.02) / (wrong + 0.02)


def _median_words(pairs: Sequence[_Pair]) -> float:
    return max(1.0, statistics.median(len(pair.text.split()) for pair in pairs))


def _mean(values: Iterator[float] | Iterable[float]) -> float:
    found = list(values)
    return statistics.fmean(found) if found else 0.0
