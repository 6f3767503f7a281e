"""Word forms: beside each word the other forms of it that occur in the corpus, so that an unstemmed query matches.

It helps where questions and documents inflect words differently, above all in short documents. The forms are learned in
``calibrate``: words of one Porter stem (or of one singular), irregular forms and the other spelling, as far as several
documents use them. ``related`` keeps to forms that meet in documents more often than chance would have it, which parts
``organ`` from ``organization``. The index grows up to twofold; half of that with the forms of the first words alone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations

from autoindex_haystack.proposers.builtin.transforms.irregular import IRREGULAR, american
from autoindex_haystack.proposers.builtin.transforms.words import words_of
from autoindex_haystack.retrieval.porter import porter_stem, strip_plural

MOST_FORMS_BYTES = 8_000_000


def learn_forms(
    texts: Iterable[str], most: int, documents: int, stems: str = "porter", related: bool = True
) -> dict[str, str]:
    """Learn for each word of the corpus its most frequent other forms.

    :param texts: The texts of the corpus.
    :param most: How many forms a word gets at most.
    :param documents: In how many documents a form must occur.
    :param stems: ``porter``, or ``plural`` for singular and plural alone.
    :param related: Whether forms of one stem must share more documents than chance would have it.
    :returns: Word to other forms, separated by blanks; the most frequent words first, bounded in size.
    """
    stem = porter_stem if stems == "porter" else strip_plural
    stem_of: dict[str, str] = {}
    frequency: Counter[str] = Counter()
    together: Counter[tuple[str, str]] = Counter()
    count = 0
    for text in texts:
        count += 1
        found = set(words_of(text))
        frequency.update(found)
        for word in found:
            if word not in stem_of:
                stem_of[word] = stem(word) if len(word) > 2 and word.isascii() and word.isalpha() else ""
        if related:
            together.update(pairs_of_one_stem(found, stem_of))
    ordered = sorted((word for word in frequency if stem_of[word]), key=lambda word: (-frequency[word], word))
    classes = group(ordered, stem_of)
    spelled = {word: american(word) for word in ordered}
    spellings = group(ordered, spelled)
    forms: dict[str, str] = {}
    for word in ordered:
        members = [
            other
            for other in classes[stem_of[word]]
            if not related or together[min(word, other), max(word, other)] * count >= frequency[word] * frequency[other]
        ]
        for variant in (*spellings[spelled[word]], *IRREGULAR.get(word, "").split()):
            if stem_of.get(variant, stem_of[word]) != stem_of[word]:
                members += classes[stem_of[variant]]
        usual = [form for form in dict.fromkeys(members) if form != word and frequency[form] >= documents]
        if usual:
            forms[word] = " ".join(sorted(usual, key=lambda form: (-frequency[form], form))[:most])
    return keep_most_frequent(forms, ordered)


def pairs_of_one_stem(found: Iterable[str], stem_of: Mapping[str, str]) -> list[tuple[str, str]]:
    """Returns the pairs of words, in alphabetical order, that have a stem in common."""
    first: dict[str, str] = {}
    several: dict[str, list[str]] = {}
    for word in found:
        stem = stem_of[word]
        other = first.setdefault(stem, word)
        if other is not word and stem:
            several.setdefault(stem, [other]).append(word)
    return [pair for members in several.values() for pair in combinations(sorted(members), 2)]


def group(members: Iterable[str], key_of: Mapping[str, str]) -> dict[str, list[str]]:
    """Returns the members by their key, in their order."""
    groups: dict[str, list[str]] = defaultdict(list)
    for member in members:
        groups[key_of[member]].append(member)
    return groups


def keep_most_frequent(forms: Mapping[str, str], ordered: Iterable[str]) -> dict[str, str]:
    """Keep the forms of the most frequent words, as many as the state may hold."""
    kept: dict[str, str] = {}
    size = 0
    for word in ordered:
        if word in forms:
            size += len(word) + len(forms[word]) + 8
            if size > MOST_FORMS_BYTES:
                break
            kept[word] = forms[word]
    return kept


def add_forms(text: str, forms: Mapping[str, str]) -> str:
    """Append for each occurrence of a word its other forms."""
    added = " ".join(filter(None, map(forms.get, words_of(text))))
    return f"{text}\n{added}" if added else text


def add_first_forms(text: str, forms: Mapping[str, str], first: int) -> str:
    """Append for each occurrence of a word among the first so many words its other forms."""
    added = " ".join(filter(None, map(forms.get, words_of(text[: 16 * first])[:first])))
    return f"{text}\n{added}" if added else text


def add_missing_forms(text: str, forms: Mapping[str, str]) -> str:
    """Append once each form of the text's words that the text lacks."""
    found = dict.fromkeys(words_of(text))
    added = dict.fromkeys(" ".join(filter(None, map(forms.get, found))).split())
    missing = " ".join([form for form in added if form not in found])
    return f"{text}\n{missing}" if missing else text
