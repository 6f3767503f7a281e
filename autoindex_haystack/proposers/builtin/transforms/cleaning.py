"""Cleaning: text that is written for machines turned into text for people.

It helps where markup repeats words that no query means, or hides words that queries do mean. It costs a few regular
expressions a document and makes the index smaller.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable

MACRO = re.compile(r"\{\{\s*([\w-]+)\s*(?:\(([^{}]*)\)\s*|\|([^{}]*))?\}\}")
LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
ADDRESS = re.compile(r"\b(?:https?|ftp)://[^\s<>\"')\]]+")
HTML_TAG = re.compile(r"</?[A-Za-z][^<>]{0,300}>")
LABEL = re.compile(r"\[[^\[\]\n]{2,60}\]")
MOST_LABELS = 2_000


def clean_markdown(text: str) -> str:
    """Keep what readers see of Markdown: the words of links and macros without addresses, tags and names of macros."""
    if "{{" in text:
        text = MACRO.sub(lambda macro: f" {macro[2] or macro[3] or ''} ", text)
    if "](" in text:
        text = LINK.sub(r"\1", text)
    text = drop_addresses(text)
    return HTML_TAG.sub(" ", text) if "<" in text else text


def drop_addresses(text: str) -> str:
    """Leave out web addresses."""
    return ADDRESS.sub(" ", text) if "://" in text else text


def learn_labels(texts: Iterable[str], share: float) -> dict[str, int]:
    """Find the labels in square brackets, such as sources and marks of usage, that this share of the documents has.

    :param texts: The texts of the corpus.
    :param share: The share of documents, 0 to 1.
    :returns: The labels and their document frequencies, the most frequent first, bounded in number.
    """
    frequency: Counter[str] = Counter()
    count = 0
    for text in texts:
        count += 1
        if "[" in text:
            frequency.update(set(LABEL.findall(text)))
    common = sorted((-n, label) for label, n in frequency.items() if n >= max(10, share * count))
    return {label: -n for n, label in common[:MOST_LABELS]}


def drop_labels(text: str, labels: Container[str]) -> str:
    """Leave out the labels that were learned."""
    return LABEL.sub(lambda label: " " if label[0] in labels else label[0], text) if "[" in text else text
