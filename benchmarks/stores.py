"""What Haystack's clothes cost a search: stores beside the bare engine in them, and Haystack's in-memory BM25.

    python -m benchmarks.stores [--documents 100000] [--json]

One query a call, as pipelines ask, the store and its engine in turns with each query; each query's time is the least
of all rounds, and the ratio is that of the sums. Memory is the growth of a process of its own while it writes all
documents, which it keeps nowhere else, and searches, beside one that holds the same documents and only the engine's
index of them. The corpus is made up.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np
from haystack import Document
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from autoindex_haystack.retrieval import BM25Settings, ChunkTable, get_backend
from benchmarks.made_up import corpus, questions
from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore, LuceneDocumentStore

STORES = {"bm25s": Bm25sDocumentStore, "lucene": LuceneDocumentStore}
PARTS = (*STORES, "engine-bm25s", "engine-lucene")
TOP_K = 10
IN_MEMORY_QUERIES = 5
BATCH = 1_000

Row = dict[str, Any]
Ask = Callable[[str], object]


def seconds(ask: Ask, query: str) -> float:
    began = time.perf_counter()
    ask(query)
    return time.perf_counter() - began


def least(queries: Sequence[str], rounds: int, *ways: Ask) -> list[float]:
    """The mean over queries of the least seconds that each way took, measured in turns.

    The way that is first to ask a query warms the processor's caches for the others, so each is first in its turn.
    """
    best = np.full((len(queries), len(ways)), np.inf)
    for turn in range(rounds * len(ways)):
        for i, query in enumerate(queries):
            for step in range(len(ways)):
                way = (turn + step) % len(ways)
                best[i, way] = min(best[i, way], seconds(ways[way], query))
    means: list[float] = best.mean(axis=0).tolist()
    return means


def row(what: str, first: float, second: float, wanted: str) -> Row:
    return {"what": what, "first": first, "second": second, "ratio": first / second, "wanted": wanted}


def search_rows(name: str, documents: list[Document], queries: list[str], rounds: int) -> list[Row]:
    """Searching a store, for documents and for chunks, beside the engine that is in it."""
    store = STORES[name]()
    store.write_documents(documents)
    store.search(queries[0])
    engine = store._current().opened.index
    rows = []
    for what, ours, bare in (
        ("documents", store.search_documents, engine.search_documents),
        ("chunks", store.search, engine.search),
    ):
        first, second = least(
            queries,
            rounds,
            lambda query, ours=ours: ours(query, top_k=TOP_K),
            lambda query, bare=bare: bare([query], TOP_K),
        )
        rows.append(row(f"{name} store / engine, {what}, µs a query", first * 1e6, second * 1e6, "≤ 1.10"))
    if name == "bm25s":
        plain = InMemoryDocumentStore()
        plain.write_documents(documents)
        retriever = InMemoryBM25Retriever(plain, top_k=TOP_K)
        theirs, ours = least(
            queries[:IN_MEMORY_QUERIES],
            min(rounds, 2),
            retriever.run,
            lambda query: store.search_documents(query, top_k=TOP_K),
        )
        rows.append(row("in-memory BM25 / bm25s store, µs a query", theirs * 1e6, ours * 1e6, "≥ 40"))
    store.close()
    return rows


def memory(part: str, documents: int) -> float:
    """Megabytes by which a process grows while it holds documents and index, and searches."""
    command = [sys.executable, "-m", "benchmarks.stores", "--documents", str(documents), "--memory", part]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def grow(part: str, documents: int) -> float:
    texts = corpus(documents)
    queries = questions(texts, 100)
    before = resident()
    made = (Document(id=str(i), content=text) for i, text in enumerate(texts))
    if part in STORES:
        store = STORES[part]()
        for batch in batched(made, BATCH):
            store.write_documents(batch)
        for query in queries:
            store.search_documents(query, top_k=TOP_K)
    else:
        held = list(made)
        ids = [document.id for document in held]
        backend = get_backend(part.removeprefix("engine-"))
        index = backend.build(ChunkTable(texts, np.arange(len(texts)), ids), BM25Settings())
        for query in queries:
            index.search_documents([query], TOP_K)
    return resident() - before


def batched(made: Iterable[Document], size: int) -> Iterator[list[Document]]:
    rest = iter(made)
    while batch := list(islice(rest, size)):
        yield batch


def resident() -> float:
    """Megabytes of memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def table(rows: list[Row]) -> str:
    lines = ["| what | first | second | ratio | wanted |", "|---|---|---|---|---|"]
    for each in rows:
        figures = f"{each['first']:,.0f} | {each['second']:,.0f} | {each['ratio']:.2f}"
        lines.append(f"| {each['what']} | {figures} | {each['wanted']} |")
    return "\n".join(lines)


@click.command(context_settings={"show_default": True})
@click.option("--documents", default=100_000)
@click.option("--queries", default=1_000)
@click.option("--rounds", default=5)
@click.option("--store", "stores", multiple=True, type=click.Choice([*STORES]), default=[*STORES])
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--memory", "part", type=click.Choice(PARTS), hidden=True)
def main(documents: int, queries: int, rounds: int, stores: Sequence[str], as_json: bool, part: str | None) -> None:
    """Measure and print."""
    if part:
        print(grow(part, documents))
        return
    texts = corpus(documents)
    held = [Document(id=str(i), content=text) for i, text in enumerate(texts)]
    rows = []
    for name in stores:
        rows += search_rows(name, held, questions(texts, queries), rounds)
        ours, plain = memory(name, documents), memory(f"engine-{name}", documents)
        rows.append(row(f"{name} store / engine and documents, MB", ours, plain, "about 1"))
    given = {"documents": documents, "queries": queries, "rounds": rounds}
    print(json.dumps({**given, "rows": rows}) if as_json else table(rows))


if __name__ == "__main__":
    main()
