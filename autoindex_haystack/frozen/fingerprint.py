"""What a component's documents were like when it was learned, to tell when new ones are different.

The file lies in the component's folder and is no part of its hash: it says nothing about what the component does.
"""

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from autoindex_haystack.collection import Document
from autoindex_haystack.errors import FrozenError, ProgramError
from autoindex_haystack.frozen.manifest import ComponentSettings
from autoindex_haystack.program import Program
from autoindex_haystack.retrieval import ChunkTable
from autoindex_haystack.retrieval.analyzers import tokenize_corpus
from autoindex_haystack.sandbox import DocumentFile, Isolation, Limits, ProgramRunner

FILE = "fingerprint.json"

SAMPLE = 5_000
"""Documents that are looked at, evenly spread over the corpus."""

_CLASSES = 24
"""Classes of numbers: 0, 1, 2 to 3, 4 to 7, and so on."""

_KNOWN = 2
"""In how many documents of the sample a word must be to be known: that does away with half of the vocabulary."""

_Z = 2.58
_KOLMOGOROV = 1.63
"""What chance exceeds in one of a hundred comparisons: a normal deviate, and the Kolmogorov-Smirnov statistic times
the square root of the effective number (Smirnov, Table for estimating the goodness of fit, 1948)."""

_LOST, _UNKNOWN = "documents that cannot be found", "unknown words"
_ONLY_MORE = (_LOST, _UNKNOWN)
"""Fewer of these are no reason to worry: documents that were learned from have no unknown words, for one."""


class Fingerprint(BaseModel):
    """The file ``fingerprint.json``.

    :param program_sha256: The program that was run.
    :param documents: How many documents were looked at.
    :param shares: What part of the documents, or of the words, something is true for.
    :param steps: The same for each transform of the program: documents whose chunks it changes.
    :param variants: Source of the program without that transform.
    :param distributions: Counts by class: 0, 1, 2 to 3, 4 to 7, and so on.
    :param words: The known words as sorted 32-bit hashes, little-endian, in base64.
    """

    model_config = ConfigDict(extra="forbid")

    format_version: int = 1
    program_sha256: str
    documents: int
    shares: dict[str, float]
    steps: dict[str, float] = {}
    variants: dict[str, str] = {}
    distributions: dict[str, list[int]]
    words: str = ""

    def write(self, folder: Path) -> None:
        """Write it into a component's folder that is being made."""
        (folder / FILE).write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")


class Drift(BaseModel):
    """One property of documents, then and now.

    :param name: What it is.
    :param learned: Its share when the component was learned; for a distribution the mean of its numbers, by class.
    :param now: The same of the new documents.
    :param difference: Of a share the absolute difference, of unknown words and lost documents the increase; of a
        distribution the largest difference of the cumulative shares (Kolmogorov-Smirnov). 0 to 1.
    :param chance: What chance alone exceeds once in a hundred times with so many documents.
    :param drifted: Whether the difference exceeds both the threshold and chance.
    """

    name: str
    learned: float
    now: float
    difference: float
    chance: float
    drifted: bool


def take_fingerprint(
    program: Program,
    state: dict[str, Any],
    documents: Sequence[Document],
    *,
    settings: ComponentSettings = ComponentSettings(),  # noqa: B008 - frozen
    variants: Mapping[str, str] | None = None,
    known: Fingerprint | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    workers: int = 1,
    isolation: Isolation = "full",
) -> Fingerprint:
    """Look at what a program makes of documents.

    :param program: The program.
    :param state: What it learned.
    :param documents: The documents; at most :data:`SAMPLE` of them are looked at.
    :param settings: The component's settings.
    :param variants: For each transform the source of the program without it.
    :param known: An earlier fingerprint, whose words are known and whose variants are run; without one known are the
        words of these documents, each being asked for words that two others have.
    :param limits: What the program may use and return.
    :param workers: Worker processes.
    :param isolation: ``full``, or ``process-only`` for workers that the kernel does not lock.
    :returns: The fingerprint.
    :raises ProgramError: If the program fails.
    """
    spacing = max(1, -(-len(documents) // SAMPLE))
    sample = list(documents[::spacing])
    how: dict[str, Any] = {"limits": limits, "workers": workers, "isolation": isolation}
    how |= {"state": state, "allowed_imports": settings.allowed_imports}
    steps = {}
    with DocumentFile(sample) as file:
        with ProgramRunner(program, file, **how) as runner:
            chunks = runner.run().chunks
        made = _by_document(chunks, len(sample))
        for name, source in (known.variants if known else variants or {}).items():
            try:
                with ProgramRunner(Program(source), file, **how) as runner:
                    without = _by_document(runner.run().chunks, len(sample))
            except ProgramError:
                continue  # Without this transform the others may lack what they build on.
            steps[name] = _share([a != b for a, b in zip(made, without, strict=True)])
    found = _measure(program, sample, chunks, made, settings.bm25.analyzer, known)
    kept = {name: (variants or {})[name] for name in steps} if known is None else {}
    return found.model_copy(update={"steps": steps, "variants": kept})


def compare_fingerprints(learned: Fingerprint, now: Fingerprint, threshold: float) -> list[Drift]:
    """Compare documents then and now.

    :param learned: The fingerprint of a component.
    :param now: That of new documents.
    :param threshold: From which difference on something has drifted.
    :returns: Every property, the largest difference first.
    """
    found = []
    shares = {**learned.shares, **{f"step: {name}": share for name, share in learned.steps.items()}}
    shares_now = {**now.shares, **{f"step: {name}": share for name, share in now.steps.items()}}
    least = max(1, min(learned.documents, now.documents))
    effective = learned.documents * now.documents / max(1, learned.documents + now.documents)
    for name in shares.keys() & shares_now.keys():
        before, after = shares[name], shares_now[name]
        difference = max(0.0, after - before) if name in _ONLY_MORE else abs(after - before)
        # A share of 0 or 1 in a sample may be another one in what it was taken from.
        pooled = min(max((before + after) / 2, 1 / least), 1 - 1 / least) if least > 1 else 0.5
        chance = _Z * float(np.sqrt(pooled * (1 - pooled) / max(effective, 0.5)))
        found.append(_drift(name, before, after, difference, chance, threshold))
    for name in learned.distributions.keys() & now.distributions.keys():
        old, new = np.array(learned.distributions[name], float), np.array(now.distributions[name], float)
        old, new = old / max(1.0, old.sum()), new / max(1.0, new.sum())
        difference = float(np.abs(np.cumsum(old) - np.cumsum(new)).max())
        middles = np.array([0.0, *(1.5 * 2.0**i - 0.5 for i in range(_CLASSES - 1))])
        chance = _KOLMOGOROV / float(np.sqrt(max(effective, 0.5)))
        found.append(_drift(name, float(old @ middles), float(new @ middles), difference, chance, threshold))
    return sorted(found, key=lambda drift: (-drift.difference, drift.name))


def read_fingerprint(folder: Path) -> Fingerprint:
    """Read a component's fingerprint.

    :param folder: The component's folder.
    :returns: The fingerprint.
    :raises FrozenError: If there is none, or it is damaged.
    """
    try:
        return Fingerprint.model_validate_json((folder / FILE).read_bytes())
    except FileNotFoundError:
        msg = (
            f"{folder} has no {FILE}: an earlier version froze it, or its program failed when it was frozen; freeze it "
            "again with `autoindex freeze RUN --program PROGRAM`"
        )
        raise FrozenError(msg) from None
    except (OSError, ValidationError) as error:
        msg = f"{folder / FILE} cannot be read ({str(error).splitlines()[0]}); freeze the program again"
        raise FrozenError(msg) from error


def _drift(name: str, before: float, after: float, difference: float, chance: float, threshold: float) -> Drift:
    drifted = difference > threshold and difference > chance
    return Drift(name=name, learned=before, now=after, difference=difference, chance=chance, drifted=drifted)


def _measure(
    program: Program,
    sample: Sequence[Document],
    chunks: ChunkTable,
    made: Sequence[list[str]],
    analyzer: str,
    known: Fingerprint | None,
) -> Fingerprint:
    whole = [_whole(document) for document in sample]
    tokens, vocabulary = tokenize_corpus(whole, analyzer)
    words = list(vocabulary)
    lengths = np.array([len(row) for row in tokenize_corpus(chunks.texts, analyzer)[0]], np.int64)
    sizes = np.array([len(row) for row in tokens], np.int64)
    reached = np.bincount(chunks.documents, weights=lengths, minlength=len(sample)) > 0
    unknown, hashes = _unknown(tokens, words, known)
    return Fingerprint(
        program_sha256=program.sha256,
        documents=len(sample),
        shares={
            "documents that the program changes": _share([m != [_words(w)] for m, w in zip(made, whole, strict=True)]),
            _LOST: _share((sizes > 0) & ~reached),
            _UNKNOWN: unknown,
        },
        distributions={
            "words in a document": _classes(sizes),
            "words in a chunk": _classes(lengths),
            "chunks of a document": _classes(np.array([len(m) for m in made], np.int64)),
        },
        words=hashes,
    )


def _unknown(tokens: Sequence[Sequence[int]], words: Sequence[str], known: Fingerprint | None) -> tuple[float, str]:
    """The share of unknown words, and the hashes of the known ones when these documents are the first."""
    hashes = np.array([xxhash.xxh32_intdigest(word.encode("utf-8")) for word in words], np.uint32)
    occurrences = Counter(number for row in tokens for number in row)
    counts = np.array([occurrences[number] for number in range(len(words))], np.int64)
    if known is not None:
        learned = np.frombuffer(base64.b64decode(known.words), "<u4")
        return _ratio(counts[~np.isin(hashes, learned)].sum(), counts.sum()), ""
    documents = Counter(number for row in tokens for number in set(row))
    frequency = np.array([documents[number] for number in range(len(words))], np.int64)
    # Each document is taken for a new one: its own use of a word does not count.
    unknown = _ratio(counts[frequency <= _KNOWN].sum(), counts.sum())
    kept = np.unique(hashes[frequency >= _KNOWN]).astype("<u4")
    return unknown, base64.b64encode(kept.tobytes()).decode("ascii")


def _by_document(chunks: ChunkTable, count: int) -> list[list[str]]:
    made: list[list[str]] = [[] for _ in range(count)]
    for document, text in zip(chunks.documents.tolist(), chunks.texts, strict=True):
        made[document].append(_words(text))
    return made


def _words(text: str) -> str:
    """A text as it is compared: blanks and lines mean nothing to an index."""
    return " ".join(text.split())


def _whole(document: Document) -> str:
    """The text that the baseline indexes."""
    title = str(document.metadata.get("title") or "")
    return f"{title}\n{document.text}" if title else document.text


def _classes(numbers: NDArray[np.int64]) -> list[int]:
    classes = np.minimum(np.ceil(np.log2(numbers + 1.0)), _CLASSES - 1).astype(np.int64)
    return [int(count) for count in np.bincount(classes, minlength=_CLASSES)]


def _share(which: Sequence[bool] | NDArray[np.bool_]) -> float:
    return float(np.mean(which)) if len(which) else 0.0


def _ratio(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else 0.0
