"""Abbreviations: the short form beside the long one and the other way round, as ``long form (LF)`` defines them.

It helps where questions use the form that a document does not, above all in medical, legal and technical text. What
several documents define alike is learned in ``calibrate`` and serves the documents that define nothing. The index
grows by a few words a document.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from autoindex_haystack.proposers.builtin.transforms.words import words_of

IN_PARENTHESES = re.compile(r"\(([A-Z][A-Za-z0-9-]{1,9})\)")
SHORT_FORM = re.compile(r"[A-Z][A-Z0-9]{1,8}")
PUNCTUATION = ".,;:!?()[]{}<>/\"'`*_"
BEFORE = 120
MOST_ABBREVIATIONS = 20_000


def definitions(text: str) -> list[tuple[str, str]]:
    """Find the abbreviations that a text defines: short and long form."""
    if "(" not in text:
        return []
    found = []
    for match in IN_PARENTHESES.finditer(text):
        short = match[1]
        if sum(letter.isupper() for letter in short) >= 2:
            long = long_form(short.rstrip("s"), text[max(0, match.start() - BEFORE) : match.start()])
            if long:
                found.append((short.rstrip("s"), long))
    return found


def long_form(short: str, before: str) -> str:
    """Find the words in front that an abbreviation stands for: its letters in order, the first beginning a word."""
    at = len(before)
    letters = [letter for letter in short.lower() if letter.isalnum()]
    low = before.lower()
    for i in range(len(letters) - 1, -1, -1):
        at = low.rfind(letters[i], 0, at)
        while i == 0 and at > 0 and low[at - 1].isalnum():
            at = low.rfind(letters[0], 0, at)
        if at < 0:
            return ""
    long = " ".join(low[at:].split())
    enough = 2 <= len(long.split()) <= len(letters) + 3
    return long if enough and not any(mark in long for mark in ".;:()") else ""


def short_forms(text: str) -> list[str]:
    """Returns the words in capitals, with or without the ending of a plural."""
    # Few words begin with two capitals: only they are worth a look by a regular expression.
    odd = [word.strip(PUNCTUATION) for word in text.split() if not (word.islower() or word[1:].islower())]
    shortened = (word.removesuffix("s") for word in odd)
    return [word for word in shortened if SHORT_FORM.fullmatch(word)]


def learn_abbreviations(texts: Iterable[str], documents: int) -> dict[str, dict[str, list[str]]]:
    """Learn the abbreviations that so many documents define alike.

    :param texts: The texts of the corpus.
    :param documents: In how many documents.
    :returns: ``long``: short form to its long forms, one; ``short``: first word of a long form to pairs of long form
        and short form in turn. Bounded in number, the most frequent first.
    """
    frequency: Counter[tuple[str, str]] = Counter()
    for text in texts:
        frequency.update(set(definitions(text)))
    usual = [pair for pair, n in sorted(frequency.items(), key=lambda item: (-item[1], item[0])) if n >= documents]
    longs: dict[str, list[str]] = {}
    shorts: dict[str, list[str]] = defaultdict(list)
    for short, long in usual[:MOST_ABBREVIATIONS]:
        longs.setdefault(short, [long])
        shorts[long.split()[0]] += [long, short]
    return {"long": longs, "short": shorts}


def add_abbreviations(text: str, learned: Mapping[str, Mapping[str, list[str]]]) -> str:
    """Append the long form for each short one, and the short form for each long one that stands alone."""
    own = dict(definitions(text))
    used = short_forms(text)
    added = [own[short] for short in used if short in own]
    longs, shorts = learned["long"], learned["short"]
    present = set(used) - own.keys()
    for short in sorted(present):
        added += longs.get(short, ())
    low = text.lower()
    for first in sorted(shorts.keys() & set(words_of(text))):
        pairs = iter(shorts[first])
        added += [short for long, short in zip(pairs, pairs, strict=True) if long in low and short not in present]
    return f"{text}\n{' '.join(added)}" if added else text
