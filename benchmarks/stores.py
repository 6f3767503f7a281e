"""What Haystack's clothes cost: stores beside the bare engine, the preprocessor beside the bare program.

    .venv/bin/python benchmarks/stores.py --documents 100000 --out table.md

The corpus is made up: words by a Zipf law, the same for the same seed. Everything is measured in turns within one run,
and medians of ratios are printed. Memory is the growth of a process of its own while it writes and searches once.
"""

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from autoindex_haystack.frozen import ComponentSettings, FrozenComponent, new_manifest, write_frozen
from autoindex_haystack.program import Document as ProgramDocument
from autoindex_haystack.program import builtin_program
from autoindex_haystack.retrieval import BM25Settings, ChunkTable, get_backend
from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor
from haystack_integrations.components.preprocessors.autoindex.program_workers import ProgramWorkers
from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore, LuceneDocumentStore

STORES = {"bm25s": Bm25sDocumentStore, "lucene": LuceneDocumentStore}
WORDS, LENGTH = 50_000, 120
PARTS = ("engine", *STORES)


def corpus(documents: int) -> list[str]:
    """Texts of about ``LENGTH`` words."""
    random = np.random.default_rng(0)
    chances = 1 / np.arange(10, WORDS + 10)
    words = np.array([f"w{i}" for i in range(WORDS)])
    lengths = random.integers(LENGTH // 2, LENGTH * 3 // 2, documents)
    drawn = words[random.choice(WORDS, lengths.sum(), p=chances / chances.sum())]
    return [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]


def questions(texts: list[str], number: int) -> list[str]:
    """Queries of five words that stand in a document."""
    random = np.random.default_rng(1)
    return [" ".join(random.choice(texts[i].split(), 5)) for i in random.integers(0, len(texts), number)]


def seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def ratios(rounds: int, one: Callable[[], Any], other: Callable[[], Any]) -> tuple[float, float, float]:
    """Medians of the seconds of two, and of their ratio, measured in turns."""
    one(), other()
    pairs = [(seconds(one), seconds(other)) for _ in range(rounds)]
    a, b = zip(*pairs, strict=True)
    return statistics.median(a), statistics.median(b), statistics.median(x / y for x, y in pairs)


def search_rows(texts: list[str], queries: list[str], rounds: int) -> list[str]:
    """Searching a store, one query a call as pipelines do, beside the engine that is in it."""
    rows = []
    documents = [Document(id=str(i), content=text) for i, text in enumerate(texts)]
    for name, store_class in STORES.items():
        store = store_class()
        store.write_documents(documents)
        engine = store._current().opened.index
        store_time, engine_time, ratio = ratios(
            rounds,
            lambda store=store: [store.search_documents(query, top_k=10) for query in queries],
            lambda engine=engine: [engine.search_documents([query], 10) for query in queries],
        )
        scale = 1e6 / len(queries)
        rows.append(
            f"| {name} store / bare engine, µs a query | {store_time * scale:.0f} | {engine_time * scale:.0f} | "
            f"{ratio:.2f} | ≤ 1.10 |"
        )
        if name == "bm25s":
            rows.append(in_memory_row(store, documents, queries[:5], rounds))
    return rows


def in_memory_row(store: Bm25sDocumentStore, documents: list[Document], queries: list[str], rounds: int) -> str:
    """Haystack's own in-memory BM25 beside ours, with the same documents."""
    plain = InMemoryDocumentStore()
    plain.write_documents(documents)
    retriever = InMemoryBM25Retriever(plain, top_k=10)
    theirs, ours, ratio = ratios(
        rounds,
        lambda: [retriever.run(query) for query in queries],
        lambda: [store.search_documents(query, top_k=10) for query in queries],
    )
    scale = 1e3 / len(queries)
    return (
        f"| in-memory BM25 / bm25s store, ms a query | {theirs * scale:.1f} | {ours * scale:.2f} | {ratio:.0f} | ≥ 40 |"
    )


def preprocessor_row(texts: list[str], rounds: int) -> str:
    """Documents a second of the preprocessor in a pipeline beside the program without Haystack."""
    with TemporaryDirectory() as folder:
        program = builtin_program("passages")
        frozen: FrozenComponent = write_frozen(
            Path(folder) / "frozen", new_manifest(program, {}, ComponentSettings()), program, {}
        )
        pipeline = Pipeline()
        pipeline.add_component("preprocessor", RepresentationPreprocessor(str(frozen.path)))
        documents = [Document(id=str(i), content=text) for i, text in enumerate(texts)]
        given = [ProgramDocument(str(i), text, {}) for i, text in enumerate(texts)]
        bare = ProgramWorkers(frozen, workers=1, timeout=60)
        bare.start()
        bare_time, pipeline_time, ratio = ratios(
            rounds,
            lambda: list(bare.run(given)),
            lambda: pipeline.run({"preprocessor": {"documents": documents}}),
        )
        bare.close()
        pipeline.close()
    rates = f"{len(texts) / pipeline_time:.0f} | {len(texts) / bare_time:.0f}"
    return f"| preprocessor in a pipeline / bare program, documents a second | {rates} | {ratio:.2f} | ≥ 0.80 |"


def memory(part: str, documents: int) -> float:
    """Megabytes by which a process grows while it holds documents and index, and searches once."""
    command = [sys.executable, __file__, "--documents", str(documents), "--memory", part]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def grow(part: str, documents: int) -> float:
    texts = corpus(documents)
    before = resident()
    held = [Document(id=str(i), content=text) for i, text in enumerate(texts)]
    if part == "engine":
        ids = [document.id for document in held]
        index = get_backend("bm25s").build(ChunkTable(texts, np.arange(len(texts)), ids), BM25Settings())
        index.search(questions(texts, 1), 10)
    else:
        store = STORES[part]()
        store.write_documents(held)
        store.search("w1 w2")
    return resident() - before


def resident() -> float:
    """Megabytes of memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


@click.command()
@click.option("--documents", default=100_000, show_default=True)
@click.option("--queries", default=1_000, show_default=True)
@click.option("--rounds", default=5, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the table; printed as well.")
@click.option("--memory", "part", type=click.Choice(PARTS), hidden=True)
def main(documents: int, queries: int, rounds: int, out: Path | None, part: str | None) -> None:
    """Measure and print the table."""
    if part:
        print(grow(part, documents))
        return
    texts = corpus(documents)
    rows = ["| what | first | second | ratio | wanted |", "|---|---|---|---|---|"]
    rows += search_rows(texts, questions(texts, queries), rounds)
    rows.append(preprocessor_row(texts[: min(documents, 10_000)], rounds))
    plain, ours = memory("engine", documents), memory("bm25s", documents)
    rows.append(f"| bm25s store / engine and documents, MB | {ours:.0f} | {plain:.0f} | {ours / plain:.2f} | about 1 |")
    table = "\n".join([f"{documents:,} documents, {queries:,} queries, {rounds} rounds", "", *rows]) + "\n"
    print(table)
    if out:
        out.write_text(table, encoding="utf-8")


if __name__ == "__main__":
    main()
