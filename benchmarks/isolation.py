"""What isolation costs: throughput of a regular expression over documents, isolated and in this process.

    python benchmarks/isolation.py [--megabytes 200] [--rounds 3]

All ratios are within one round, so that a busy machine slows both sides; the table gives their medians.
"""

import argparse
import resource
import statistics
import time

import numpy as np

from autoindex_haystack.program import Document, Program
from autoindex_haystack.sandbox import DocumentFile, Limits, ProgramRunner

SOURCE = """\
import re
from autoindex_haystack.program import BasePreprocessor, Chunk

WORD = re.compile(r"\\b([a-z]+)_([a-z]+)\\b")

class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        chunks = []
        for doc in docs:
            chunks.append(Chunk("0", doc.doc_id, WORD.sub(r"\\g<0> \\1 \\2", doc.text)))
        return chunks
"""
LIMITS = Limits(seconds=3600)
_STARTS = 15


def make_documents(megabytes: int, size: int = 4_000) -> list[Document]:
    """Documents of random words, some of them identifiers."""
    rng = np.random.default_rng(0)
    letters = rng.integers(97, 123, (20_000, 7), np.uint8)
    words = [bytes(row).decode() for row in letters]
    words = [word + "_" + words[i - 1] if i % 10 == 0 else word for i, word in enumerate(words)]
    documents = []
    for i in range(megabytes * 1_000_000 // size):
        chosen = rng.integers(0, len(words), size // 8)
        documents.append(Document(f"d{i}", " ".join(words[n] for n in chosen)))
    return documents


def in_process(documents: list[Document]) -> float:
    """Seconds for the same program in this process, on one core, its chunks kept."""
    namespace: dict[str, object] = {}
    exec(compile(SOURCE, "program", "exec"), namespace)
    program = namespace["Preprocessor"]()
    began = time.perf_counter()
    kept = [chunk.text for document in documents for chunk in program.preprocess([document])]
    assert kept
    return time.perf_counter() - began


def isolated(file: DocumentFile, workers: int) -> float:
    """Seconds for warm isolated workers."""
    with ProgramRunner(Program(SOURCE), file, workers=workers, limits=LIMITS) as runner:
        runner.start()
        began = time.perf_counter()
        runner.run()
        return time.perf_counter() - began


def start_up() -> float:
    """Seconds until a worker is locked and has loaded the program."""
    with DocumentFile() as file, ProgramRunner(Program(SOURCE), file) as runner:
        began = time.perf_counter()
        runner.start()
        return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    documents = make_documents(arguments.megabytes)
    size = sum(len(document.text) for document in documents) / 1e6
    with DocumentFile(documents) as file:
        rounds = range(arguments.rounds)
        rows = [(in_process(documents), isolated(file, 1), isolated(file, 2)) for _ in rounds]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ready = sorted(start_up() for _ in range(_STARTS))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / _STARTS
    print(f"{len(documents):,} documents, {size:.0f} MB, {arguments.rounds} rounds\n")
    print("| | MB/s | ratio to in-process |\n|---|---|---|")
    for i, name in enumerate(("in-process, one core", "one isolated worker", "two isolated workers")):
        speed = statistics.median(size / row[i] for row in rows)
        ratio = statistics.median(row[0] / row[i] for row in rows)
        print(f"| {name} | {speed:.0f} | {ratio:.2f} |")
    spread = f"median {1e3 * statistics.median(ready):.0f} ms, fastest {1e3 * ready[0]:.0f} ms"
    print(f"\nworker ready: {spread}, processor time {1e3 * used:.0f} ms")


if __name__ == "__main__":
    main()
