"""The description of a corpus that the agents get where the user gives none: what can be counted, and samples."""

from statistics import fmean, median, quantiles

from autoindex_haystack.collection import Document
from autoindex_haystack.proposers.agents.cutting import line
from autoindex_haystack.proposers.agents.prompts import fill
from autoindex_haystack.proposers.base import CollectionView
from autoindex_haystack.proposers.builtin.profile import SPLITTERS, Profile, profile_corpus, sample

_SAMPLES, _SAMPLE_LENGTH = 3, 500
_EXAMPLES, _EXAMPLE_LENGTH = 5, 160
_FIELDS = 12


def describe(view: CollectionView) -> str:
    """Describe a corpus and its validation queries.

    :param view: What a proposer may see of the collection.
    :returns: Some lines of text.
    """
    profile = profile_corpus(view.documents)
    seen = sample(view.documents)
    lengths = [len(document.text.split()) for document in seen]
    texts = list(view.queries.values())
    spread = range(0, len(texts), max(1, len(texts) // _EXAMPLES))
    return fill(
        "description",
        documents=len(view.documents),
        words=[round(words) for words in _percentiles(lengths)],
        titled=profile.titled,
        fields=profile.metadata,
        markup=profile.markup,
        inner=_inner(profile, seen),
        signs=_signs(profile),
        samples=[_shown(document) for document in sample(view.documents, _SAMPLES)],
        queries=len(texts),
        query_words=round(median(len(text.split()) for text in texts)),
        relevant=fmean(sum(grade > 0 for grade in grades.values()) for grades in view.qrels.values()),
        examples=[line(texts[i], _EXAMPLE_LENGTH) for i in spread][:_EXAMPLES],
    )


def _percentiles(values: list[int]) -> tuple[float, float, float, float]:
    if len(values) < 2:
        return (values[0],) * 4
    cuts = quantiles(values, n=100, method="inclusive")
    return cuts[24], cuts[49], cuts[74], cuts[98]


def _inner(profile: Profile, seen: list[Document]) -> list[str]:
    """The names of the commonest fields within the text."""
    if not profile.markup:
        return []
    counts: dict[str, int] = {}
    for document in seen:
        for name, _ in SPLITTERS[profile.markup](document.text):
            counts[name] = counts.get(name, 0) + 1
    return [name for name in sorted(counts, key=lambda name: (-counts[name], name)) if name][:_FIELDS]


def _signs(profile: Profile) -> list[str]:
    """What the text holds that is not plain prose."""
    shares = {
        "lines that many documents share": profile.boilerplate,
        "Markdown links, macros and tags": profile.markdown,
        "web addresses": profile.addresses,
    }
    counts = {
        "LaTeX commands": profile.latex,
        "identifiers of programs": profile.identifiers,
        "hyphenated words": profile.hyphens,
        "words with letters beyond ASCII": profile.letters,
    }
    found = [
        f"{100 * share:.0f} % of the characters stand in {name}." for name, share in shares.items() if share > 0.01
    ]
    return found + [f"{count:.1f} {name} in 100 words." for name, count in counts.items() if count >= 0.5]


def _shown(document: Document) -> str:
    title = document.metadata.get("title")
    return line(f"{title}: {document.text[: 4 * _SAMPLE_LENGTH]}" if title else document.text, _SAMPLE_LENGTH)
