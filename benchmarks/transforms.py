"""What each transform of the built-in proposer costs on a collection: throughput, growth, learning.

    python benchmarks/transforms.py COLLECTION... [--documents 3000] [--rounds 3]

The programs run in this process, one after the other, over documents spread evenly over the corpus. Throughput is in
processor time; the ratio to the plain program's is within one round, so that a busy machine slows both sides. The table
gives medians.
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from autoindex_haystack import load_collection
from autoindex_haystack.collection import Document
from autoindex_haystack.proposers.builtin.library import TRANSFORMS
from autoindex_haystack.proposers.builtin.profile import Profile, profile_corpus, sample
from autoindex_haystack.proposers.builtin.recipe import Recipe, Step
from autoindex_haystack.proposers.builtin.render import render


def usual_steps(profile: Profile) -> Iterator[Step]:
    """Every transform with its usual parameters, those that depend on the corpus from its profile."""
    kind = profile.heading or "markdown"
    given: dict[str, dict[str, Any]] = {
        "fields": {"markup": profile.markup or "record", "title": profile.title_field, "dropped": [], "repeated": {}},
        "aliases": {"markup": profile.markup or "record", "names": list(profile.alias_fields)},
        "metadata": {"names": list(profile.metadata)},
        "elements": {"name": profile.element or "p"},
        "headings": {"kind": kind},
        "sections": {"kind": kind},
    }
    for name, transform in TRANSFORMS.items():
        yield Step.of(name, **transform.complete(given.get(name, {})))


def measure(step: Step | None, documents: Sequence[Document]) -> tuple[float, float, int]:
    """Run a program once.

    :param step: Its one step; None for the full document.
    :param documents: The documents.
    :returns: Seconds of processor time for learning and for all documents, and the characters that came out.
    """
    namespace: dict[str, Any] = {}
    exec(compile(render(Recipe((step,) if step else ())), "program", "exec"), namespace)
    program = namespace["Preprocessor"]()
    program.state = {}
    began = time.process_time()
    learned = program.calibrate(documents) if hasattr(program, "calibrate") else {}
    learning = time.process_time() - began
    program.state = json.loads(json.dumps(learned or {}))
    began = time.process_time()
    texts = [chunk.text for document in documents for chunk in program.preprocess([document])]
    return learning, time.process_time() - began, sum(map(len, texts))


def main() -> None:
    """Print a table for each collection."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument("--documents", type=int, default=3_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    for folder in arguments.collections:
        documents = sample(load_collection(folder).documents, arguments.documents)
        characters = sum(len(document.text) for document in documents)
        print(f"\n{folder.name}: {len(documents):,} documents, {characters / 1e6:.1f} million characters\n")
        print("| transform | MB/s | times the plain program's seconds | growth | learning, s a MB |")
        print("|---|---|---|---|---|")
        for step in usual_steps(profile_corpus(documents)):
            rows = [(*measure(step, documents), measure(None, documents)[1]) for _ in range(arguments.rounds)]
            speed = statistics.median(characters / 1e6 / max(1e-9, seconds) for _, seconds, _, _ in rows)
            ratio = statistics.median(seconds / max(1e-9, plain) for _, seconds, _, plain in rows)
            learning = statistics.median(learning for learning, *_ in rows) / (characters / 1e6)
            print(f"| {step.transform} | {speed:.0f} | {ratio:.1f} | {rows[0][2] / characters:.2f} | {learning:.2f} |")


if __name__ == "__main__":
    main()
