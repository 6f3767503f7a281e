"""Informative parts: the words and sentences that set a document apart from the corpus, said once more.

It helps in long documents whose subject is spread over the text: what the document says often and the corpus seldom is
weighted up. Document frequencies are learned in ``calibrate``. Words cost little; sentences cost their length.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import nlargest

from autoindex_haystack.proposers.builtin.transforms.words import words_of

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
MOST_FREQUENT = 60_000
LONGEST_READ = 200_000


def learn_rarity(texts: Iterable[str]) -> dict[str, float]:
    """Learn how rare the words of the corpus are.

    :param texts: The texts of the corpus.
    :returns: Word to inverse document frequency, the most frequent words first, bounded in number; under the empty
        word stands that of a word which is not listed.
    """
    frequency: Counter[str] = Counter()
    count = 0
    for text in texts:
        count += 1
        frequency.update(set(words_of(text)))
    listed = sorted(((n, word) for word, n in frequency.items() if n > 1), key=lambda pair: (-pair[0], pair[1]))
    rarity = {word: round(math.log((count + 1) / n), 3) for n, word in listed[:MOST_FREQUENT]}
    least = listed[MOST_FREQUENT - 1][0] if len(listed) >= MOST_FREQUENT else 1
    return {**rarity, "": round(math.log((count + 1) / least), 3)}


def weights(found: Iterable[str], rarity: Mapping[str, float]) -> dict[str, float]:
    """Returns what each word says of a document: how often it stands there times how rare it is."""
    unknown = rarity[""]
    return {word: (1 + math.log(n)) * rarity.get(word, unknown) for word, n in Counter(found).items() if len(word) > 1}


def key_words(text: str, rarity: Mapping[str, float], count: int) -> str:
    """Returns the words that say most of a document: used at least twice and rare in the corpus."""
    often = Counter(words_of(text[:LONGEST_READ]))
    several = {word: n * rarity.get(word, rarity[""]) for word, n in often.items() if n > 1 and len(word) > 1}
    return " ".join(nlargest(count, several, key=lambda word: (several[word], word)))


def key_sentences(text: str, rarity: Mapping[str, float], count: int) -> list[str]:
    """Returns the sentences whose words say most of a document, in their order; none when it has hardly more."""
    sentences = [sentence for sentence in SENTENCE_END.split(text[:LONGEST_READ]) if sentence]
    if len(sentences) < 2 * count:
        return []
    found = [words_of(sentence) for sentence in sentences]
    weight = weights((word for sentence in found for word in sentence), rarity)
    # Ten words more in the divisor: a short sentence has to say something too.
    scores = [sum(weight.get(word, 0.0) for word in set_of(sentence)) / (10 + len(sentence)) for sentence in found]
    best = nlargest(count, range(len(sentences)), key=lambda i: (scores[i], -i))
    return [sentences[i] for i in sorted(best)]


def set_of(found: Iterable[str]) -> dict[str, None]:
    """Returns each word once, in order, so that sums do not depend on the hash seed."""
    return dict.fromkeys(found)
