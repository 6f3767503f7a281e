"""How fast our Lucene engine is beside Pyserini's indexer and Anserini's searcher, on the same files in the same run.

    .venv/bin/python benchmarks/lucene.py run ../shared/datasets/gcide_reverse_full --out table.md

indexes a collection with both and asks both all its queries, in turns, and prints the medians. Pyserini's indexer is
``io.anserini.index.IndexCollection``, which ``python -m pyserini.index.lucene`` runs, and its searcher is
``SimpleSearcher.batch_search``, called as ``LuceneSearcher.batch_search`` does. Each indexing is a process of its own.
The same Java serves both: in our indexing with our options, in Pyserini's with those that Pyserini gives it. CPU time
is that of all threads.

    .venv/bin/python benchmarks/lucene.py store ../shared/datasets/gcide_reverse_full

tells what it costs to write a few documents more to a full LuceneDocumentStore and to search.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click

from autoindex_haystack.collection import load_collection
from autoindex_haystack.retrieval import BM25Settings, ChunkTable
from pyserini_backend import java_home, jvm
from pyserini_backend.analysis import joined_tokens
from pyserini_backend.index import LuceneIndex

THREADS = os.cpu_count() or 1
INDEXERS = {
    "Pyserini, English": ("pyserini", "lucene-english"),
    "ours, lucene-english": ("ours", "lucene-english"),
    "Pyserini, tokens made before": ("pyserini", "bm25s"),
    "ours, bm25s": ("ours", "bm25s"),
}
BASES = {"ours, lucene-english": "Pyserini, English", "ours, bm25s": "Pyserini, English"}


@click.group()
def main() -> None:
    """Compare indexing and searching; `run` does all of it."""


@main.command()
@click.argument("collection", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--rounds", default=5, show_default=True, help="How often everything is measured.")
@click.option("--hits", default=1000, show_default=True, help="Hits a query.")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the tables; printed as well.")
def run(collection: Path, rounds: int, hits: int, out: Path | None) -> None:
    """Measure and print the tables."""
    work = Path(tempfile.mkdtemp(prefix="autoindex-benchmark-"))
    loaded = load_collection(collection)
    texts = [f"{document.metadata.get('title', '')}\n{document.text}" for document in loaded.documents]
    for analyzer, made in (("lucene-english", texts), ("bm25s", [joined_tokens(text) for text in texts])):
        write_json(work / f"pyserini-{analyzer}", loaded.document_ids, made)
        write_json(work / f"ours-{analyzer}", loaded.document_ids, texts)
    queries = list(loaded.queries.values())
    tables = [indexing_table(work, len(texts), rounds), searching_table(work, queries, rounds, hits)]
    text = "\n".join([f"{collection.name}, {len(texts):,} documents, {THREADS} threads\n", *tables])
    click.echo(text)
    if out:
        out.write_text(text, encoding="utf-8")
    shutil.rmtree(work)


@main.command()
@click.argument("collection", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--more", default=100, show_default=True, help="Documents that are written to the full store.")
@click.option("--rounds", default=5, show_default=True, help="How often they are.")
def store(collection: Path, more: int, rounds: int) -> None:
    """Compare filling a LuceneDocumentStore, and then writing few documents and searching."""
    from haystack import Document

    from haystack_integrations.document_stores.autoindex import LuceneDocumentStore

    loaded = load_collection(collection)
    rows = [Document(id=document.doc_id, content=document.text) for document in loaded.documents]
    query = next(iter(loaded.queries.values()))
    seconds = []
    with tempfile.TemporaryDirectory(prefix="autoindex-benchmark-") as folder:
        opened = LuceneDocumentStore(f"{folder}/store")
        kept = len(rows) - rounds * more
        for batch in [rows[:kept], *(rows[start : start + more] for start in range(kept, len(rows), more))]:
            begun = time.perf_counter()
            opened.write_documents(batch)
            opened.search(query)
            seconds.append(time.perf_counter() - begun)
        opened.close()
    first, later = seconds[0], statistics.median(seconds[1:])
    click.echo(
        f"{kept:,} documents, written, indexed and searched: {first:.2f} s; {more} more: {later:.3f} s, "
        f"median of {rounds}; {first / later:.0f} times less"
    )


def write_json(folder: Path, ids: list[str], texts: list[str]) -> None:
    """Write documents as Pyserini reads them, in as many files as there are threads: it reads a file in one thread."""
    folder.mkdir()
    for part in range(THREADS):
        rows = zip(ids[part::THREADS], texts[part::THREADS], strict=True)
        lines = [json.dumps({"id": name, "contents": text}) + "\n" for name, text in rows]
        (folder / f"{part}.jsonl").write_text("".join(lines), encoding="utf-8")


def indexing_table(work: Path, documents: int, rounds: int) -> str:
    """Index in turns, in processes of their own."""
    seconds: dict[str, list[tuple[float, float, float]]] = {name: [] for name in INDEXERS}
    for _ in range(rounds):
        for name, (who, analyzer) in INDEXERS.items():
            shutil.rmtree(work / "index", ignore_errors=True)
            command = [sys.executable, __file__, "index", who, analyzer, str(work / f"{who}-{analyzer}")]
            begun = time.perf_counter()
            done = subprocess.run([*command, str(work / "index")], check=True, capture_output=True, text=True)
            whole = time.perf_counter() - begun
            alone, cpu = map(float, done.stdout.splitlines()[-1].split())
            seconds[name].append((whole, alone, cpu))
    head = "| indexing | documents/s | ratio | without the start | ratio | CPU seconds |\n|---|---|---|---|---|---|"
    rows = []
    for name, measured in seconds.items():
        whole, alone, cpu = map(statistics.median, zip(*measured, strict=True))
        base = seconds[BASES.get(name, "Pyserini, English")]
        ratios = [statistics.median(b[i] / m[i] for b, m in zip(base, measured, strict=True)) for i in range(2)]
        rows.append(
            f"| {name} | {documents / whole:,.0f} | {ratios[0]:.2f} | {documents / alone:,.0f} | {ratios[1]:.2f} "
            f"| {cpu:.1f} |"
        )
    return "\n".join([head, *rows]) + "\n"


@main.command()
@click.argument("who", type=click.Choice(["ours", "pyserini"]))
@click.argument("analyzer")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
def index(who: str, analyzer: str, source: Path, target: Path) -> None:
    """Index once; print the seconds without Java's start, and those of the CPU in all."""
    if who == "pyserini":
        start_as_pyserini_does()
    jvm.enter()
    begun = time.perf_counter()
    if who == "ours":
        rows = [json.loads(line) for path in sorted(source.iterdir()) for line in path.open(encoding="utf-8")]
        chunks = ChunkTable.of_texts([row["contents"] for row in rows], [row["id"] for row in rows])
        LuceneIndex.build(chunks, BM25Settings(analyzer=analyzer), target).close()
    else:
        command = f"-collection JsonCollection -generator DefaultLuceneDocumentGenerator -threads {THREADS}"
        pretokenized = ["-pretokenized"] if analyzer == "bm25s" else []
        arguments = [*command.split(), "-input", str(source), "-index", str(target), *pretokenized]
        jvm.java_class("io.anserini.index.IndexCollection").main(arguments)
    click.echo(f"{time.perf_counter() - begun} {time.process_time()}")


def start_as_pyserini_does() -> None:
    """Start Java with Pyserini's options, but for a module that only dense retrieval uses and small runtimes lack."""
    import jnius_config

    home = java_home.find_java()
    os.environ |= {"JAVA_HOME": str(home), "JVM_PATH": str(java_home.find_virtual_machine(home))}
    jnius_config.add_classpath(str(java_home.find_jar()))
    import jnius  # noqa: F401


def searching_table(work: Path, queries: list[str], rounds: int, hits: int) -> str:
    """Search in turns, in one process."""
    settings = BM25Settings(analyzer="lucene-english")
    rows = [json.loads(line) for path in sorted((work / "ours-lucene-english").iterdir()) for line in path.open()]
    chunks = ChunkTable.of_texts([row["contents"] for row in rows], [row["id"] for row in rows])
    with LuceneIndex.build(chunks, settings, work / "searched") as index:
        ways: dict[str, Callable[[], object]] = {
            "SimpleSearcher.batch_search": simple_searcher(work / "searched" / "lucene", settings, queries, hits),
            "ours, candidates_many": lambda: index.candidates_many(queries, hits),
            "ours, search": lambda: index.search(queries, hits),
        }
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(rounds + 2):
            for name, way in ways.items():
                begun = time.perf_counter()
                way()
                if turn >= 2:  # The first are for Java to compile.
                    seconds[name].append(time.perf_counter() - begun)
    head = f"| searching, {hits} hits a query | queries/s | ratio |\n|---|---|---|"
    first = seconds["SimpleSearcher.batch_search"]
    lines = [
        f"| {name} | {len(queries) / statistics.median(measured):,.0f} "
        f"| {statistics.median(b / m for b, m in zip(first, measured, strict=True)):.2f} |"
        for name, measured in seconds.items()
    ]
    return "\n".join([head, *lines]) + "\n"


def simple_searcher(folder: Path, settings: BM25Settings, queries: list[str], hits: int) -> Callable[[], object]:
    """Search as `LuceneSearcher.batch_search` does; the hits stay in Java."""
    searcher = jvm.java_class("io.anserini.search.SimpleSearcher")(str(folder))
    searcher.set_bm25(settings.k1, settings.b)

    def search() -> object:
        texts, ids = (jvm.java_class("java.util.ArrayList")() for _ in range(2))
        for number, query in enumerate(queries):
            texts.add(query)
            ids.add(str(number))
        found = searcher.batch_search(texts, ids, hits, THREADS)
        return {entry.getKey(): entry.getValue() for entry in found.entrySet().toArray()}

    return search


if __name__ == "__main__":
    main()
