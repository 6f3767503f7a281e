"""Word forms: beside each word the other forms of it that occur in the corpus, so that an unstemmed query matches.

It helps where questions and documents inflect words differently, above all in short documents. The index grows about
twofold. The forms are learned in ``calibrate``: words of one Porter stem that several documents use.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from autoindex_haystack.retrieval.porter import porter_stem

WORD = re.compile(r"\w\w+")
MOST_FORMS_BYTES = 8_000_000


def learn_forms(texts: Iterable[str], most: int, documents: int) -> dict[str, str]:
    """Learn for each word of the corpus its most frequent other forms.

    :param texts: The texts of the corpus.
    :param most: How many forms a word gets at most.
    :param documents: In how many documents a form must occur.
    :returns: Word to other forms, separated by blanks; the most frequent words first, bounded in size.
    """
    frequency: Counter[str] = Counter()
    for text in texts:
        frequency.update(set(WORD.findall(text.lower())))
    classes: dict[str, list[str]] = defaultdict(list)
    ordered = sorted(frequency, key=lambda word: (-frequency[word], word))
    for word in ordered:
        if len(word) > 2 and word.isascii() and word.isalpha():
            classes[porter_stem(word)].append(word)
    forms: dict[str, str] = {}
    for members in classes.values():
        usual = [word for word in members if frequency[word] >= documents]
        for word in members:
            others = [other for other in usual if other != word][:most]
            if others:
                forms[word] = " ".join(others)
    return keep_most_frequent(forms, ordered)


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
    added = [forms[word] for word in WORD.findall(text.lower()) if word in forms]
    return f"{text}\n{' '.join(added)}" if added else text


def add_missing_forms(text: str, forms: Mapping[str, str]) -> str:
    """Append once each form of the text's words that the text lacks."""
    words = dict.fromkeys(WORD.findall(text.lower()))
    others = (form for word in words if word in forms for form in forms[word].split())
    missing = dict.fromkeys(form for form in others if form not in words)
    return f"{text}\n{' '.join(missing)}" if missing else text
