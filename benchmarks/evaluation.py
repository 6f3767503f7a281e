"""What one candidate's evaluation costs, without the time of the program itself.

    python benchmarks/evaluation.py --collection ../shared/datasets/debian_blends_full [--json]
    python benchmarks/evaluation.py --collection ../shared/datasets/debian_blends_full --growth

compares, on the chunks of a program:

- (a) bm25s alone: tokenize, index, retrieve 10,000 chunks a query, MaxP in numpy, ir_measures;
- (a') the same with MaxP in Python dictionaries, as published code does it;
- (b) ours, nothing known of the chunks;
- (c) ours, when a tenth of the documents has changed since an evaluation before.

Runs are interleaved and ratios are taken within one round, so that a busy machine slows all sides; the table gives
medians. With ``--analyzer lucene-…`` (a) indexes and asks with the tokens of that analyzer, made by Python one by one,
since bm25s has no other than its own. ``--growth`` times (b) and tells the memory for corpora of growing size, made by
repeating documents with some of their words changed, and the powers of the number of documents with which both grow:
1 is linear. Whole searches are measured by ``searches.py``.
"""

import json
import math
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import bm25s
import click
import numpy as np

from autoindex_haystack import load_collection
from autoindex_haystack.collection import Collection
from autoindex_haystack.evaluation import Evaluator, score_queries
from autoindex_haystack.evaluation.exact import ExactEvaluator
from autoindex_haystack.program import Program, builtin_program, read_program
from autoindex_haystack.retrieval import BM25Settings, ChunkTable
from autoindex_haystack.retrieval.analyzers import ANALYZER_NAMES, tokenize
from autoindex_haystack.retrieval.ranking import code_point_order
from autoindex_haystack.retrieval.texts import Utf8Texts

DEPTH = 10_000
SHOWN = 100
CHANGED = 0.1
BLOCK = 512
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)

FOUR_CHUNKS = '''
from autoindex_haystack.program import BasePreprocessor, Chunk

class Preprocessor(BasePreprocessor):
    """The whole document, its title with its beginning, its title twice, and its end: four chunks each."""

    def preprocess(self, docs):
        chunks = []
        for doc in docs:
            title = str(doc.metadata.get("title") or "")
            words = doc.text.split()
            texts = [
                title + "\\n" + doc.text,
                title + "\\n" + " ".join(words[:100]),
                (title + " ") * 2 + " ".join(words[:30]),
                title + "\\n" + " ".join(words[len(words) // 2 :]),
            ]
            chunks += [Chunk(f"{doc.doc_id}_{i}", doc.doc_id, text) for i, text in enumerate(texts)]
        return chunks
'''

Qrels = Mapping[str, Mapping[str, int]]


def tokens_of(texts: list[str], analyzer: str, **options: Any) -> Any:
    """What bm25s indexes or asks for: its own tokens, or those of another analyzer."""
    if analyzer == "bm25s":
        return bm25s.tokenize(texts, stopwords="en", show_progress=False, **options)
    return [tokenize(text, analyzer) for text in texts]


def plain(
    chunks: ChunkTable, texts: list[str], queries: dict[str, str], qrels: Qrels, analyzer: str = "bm25s"
) -> tuple[float, float, Any]:
    """Seconds of (a) and of (a'), and the figures."""
    began = time.perf_counter()
    retriever = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    retriever.index(tokens_of(texts, analyzer), show_progress=False)
    asked = tokens_of(list(queries.values()), analyzer, return_ids=False)
    found, scores = retriever.retrieve(asked, k=min(DEPTH, len(texts)), show_progress=False)
    common = time.perf_counter() - began
    figures = []
    seconds = []
    for max_p in (_in_numpy, _in_dictionaries):
        began = time.perf_counter()
        ranked = dict(zip(queries, max_p(found, scores, chunks), strict=True))
        figures.append(score_queries(ranked, qrels))
        seconds.append(common + time.perf_counter() - began)
    return seconds[0], seconds[1], figures[0]


def _in_numpy(found: Any, scores: Any, chunks: ChunkTable) -> Iterator[list[str]]:
    ids = chunks.document_ids
    for row, values in zip(found, scores, strict=True):
        # Chunks come best first, so a document's first one is its best.
        owners, first = np.unique(chunks.documents[row[values > 0]], return_index=True)
        yield [ids[i] for i in owners[np.argsort(first)][:SHOWN].tolist()]


def _in_dictionaries(found: Any, scores: Any, chunks: ChunkTable) -> Iterator[list[str]]:
    owners = chunks.documents.tolist()
    for row, values in zip(found.tolist(), scores.tolist(), strict=True):
        best: dict[str, float] = {}
        for chunk, score in zip(row, values, strict=True):
            document = chunks.document_ids[owners[chunk]]
            if score > best.get(document, 0.0):
                best[document] = score
        yield sorted(best, key=lambda document: -best[document])[:SHOWN]


def in_blocks(chunks: ChunkTable) -> list[tuple[Any, Any, Utf8Texts]]:
    """Chunks as they come from the workers of a program: the documents, how many chunks each has, the texts."""
    texts = Utf8Texts.of(chunks.texts)
    blocks = []
    for begin in range(0, len(chunks.document_ids), BLOCK):
        documents = np.arange(begin, min(begin + BLOCK, len(chunks.document_ids)))
        bounds = np.searchsorted(chunks.documents, np.append(documents, documents[-1] + 1))
        blocks.append((documents, np.diff(bounds).astype(np.uint32), texts[int(bounds[0]) : int(bounds[-1])]))
    return blocks


def exact(evaluator: ExactEvaluator, blocks: list[tuple[Any, Any, Utf8Texts]]) -> Any:
    """Evaluate chunks; returns the figures."""
    reading = evaluator.reading()
    for block in blocks:
        reading.add(*block)
    return evaluator.judge(reading.finished(), reading.digests)[1]


def changed(chunks: ChunkTable, seed: int) -> ChunkTable:
    """The chunks of a program that gives something else for a tenth of the documents."""
    rng = np.random.default_rng(seed)
    chosen = set(rng.choice(len(chunks.document_ids), int(CHANGED * len(chunks.document_ids)), replace=False).tolist())
    rows = zip(chunks.documents.tolist(), chunks.texts, strict=True)
    texts = [f"{text} changed {seed}" if document in chosen else text for document, text in rows]
    return ChunkTable(Utf8Texts.of(texts), chunks.documents, chunks.document_ids)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def measure(collection: Collection, program: Program, rounds: int, settings: BM25Settings) -> dict[str, float]:
    """The ratios of one program, medians of the rounds."""
    with Evaluator(collection) as evaluator:
        chunks, _ = evaluator.run(program)
    queries, qrels = collection.queries, collection.qrels
    texts, blocks = list(chunks.texts), in_blocks(chunks)
    order = code_point_order(collection.document_ids)

    def fresh() -> ExactEvaluator:
        return ExactEvaluator(queries, qrels, settings, collection.document_ids, order)

    warm = fresh()
    exact(warm, blocks)  # Also loads the compiled code.
    rows = []
    for seed in range(rounds):
        a, a_dict, figures = plain(chunks, texts, queries, qrels, settings.analyzer)
        cold = fresh()
        b, ours = timed(lambda cold=cold: exact(cold, blocks))
        cold.close()
        _check(figures, ours)
        other = in_blocks(changed(chunks, seed))
        c, _ = timed(lambda other=other: exact(warm, other))
        rows.append((a, a_dict, b, c))
    warm.close()
    return {
        "chunks": len(texts),
        "megabytes": Utf8Texts.of(chunks.texts).nbytes / 1e6,
        "seconds_plain": statistics.median(a for a, _, _, _ in rows),
        "seconds_cold": statistics.median(b for _, _, b, _ in rows),
        "seconds_incremental": statistics.median(c for _, _, _, c in rows),
        "ratio_cold": statistics.median(a / b for a, _, b, _ in rows),
        "ratio_incremental": statistics.median(a / c for a, _, _, c in rows),
        "ratio_cold_dict": statistics.median(a / b for _, a, b, _ in rows),
        "ratio_incremental_dict": statistics.median(a / c for _, a, _, c in rows),
    }


def _check(plain_figures: Any, ours: Any) -> None:
    """Both sides do the same work: their mean Recall@100 differs by no more than ties."""
    one, other = (statistics.fmean(row["recall@100"] for row in found.values()) for found in (plain_figures, ours))
    if abs(one - other) > 0.005:
        msg = f"the figures differ: Recall@100 {one:.4f} and {other:.4f}"
        raise SystemExit(msg)


def grow(collection: Collection, sizes: tuple[int, ...], settings: BM25Settings) -> Iterator[dict[str, float]]:
    """Time and memory of (b) for corpora of growing size; a block is made when it is needed, as by a program."""
    documents = [f"{document.metadata.get('title') or ''}\n{document.text}" for document in collection.documents]
    for size in sizes:
        ids = [str(i) for i in range(size)]
        qrels = {query: {ids[i]: 1} for i, query in enumerate(collection.queries)}
        evaluator = ExactEvaluator(collection.queries, qrels, settings, ids, code_point_order(ids))
        reading = evaluator.reading()
        seconds = 0.0
        total = 0
        for begin in range(0, size, BLOCK):
            numbers = np.arange(begin, min(begin + BLOCK, size))
            texts = Utf8Texts.of([f"{documents[i % len(documents)]} {i // 7} copy{i}" for i in numbers.tolist()])
            total += texts.nbytes
            spent, _ = timed(
                lambda n=numbers, t=texts, r=reading: r.add(n, np.ones(len(n), np.uint32), t),
            )
            seconds += spent
        spent, _ = timed(lambda r=reading, e=evaluator: e.judge(r.finished(), r.digests))
        evaluator.close()
        yield {
            "documents": size,
            "megabytes": total / 1e6,
            "seconds": seconds + spent,
            "seconds_per_10k": (seconds + spent) / size * 10_000,
            "resident_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }


def power(rows: list[dict[str, float]], what: str, *, above: float = 0.0) -> float:
    """The power of the number of documents with which something grows, from the larger half of the sizes.

    :param rows: The rows of :func:`grow`.
    :param what: Which column.
    :param above: What there is of it without any document.
    """
    half = rows[min(len(rows) // 2, len(rows) - 2) :]
    sizes = [math.log(row["documents"]) for row in half]
    values = [math.log(max(1e-9, row[what] - above)) for row in half]
    return statistics.linear_regression(sizes, values).slope


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as a Markdown table."""
    head = list(rows[0])
    cells = [[f"{value:,.3g}" if isinstance(value, float) else f"{value}" for value in row.values()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *cells])


@click.command()
@click.option("--collection", "folder", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--program", "paths", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="A program file to measure in place of the two given ones; repeatable.")  # fmt: skip
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(min=1))
@click.option("--analyzer", type=click.Choice(ANALYZER_NAMES), default="bm25s", show_default=True)
@click.option("--growth", is_flag=True, help="Time and memory of corpora of growing size instead.")
@click.option("--sizes", default=",".join(map(str, SIZES)), show_default=True, help="Documents, for --growth.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; the ratios on top are the smallest of the programs.")
def main(
    folder: Path, paths: tuple[Path, ...], rounds: int, analyzer: str, growth: bool, sizes: str, as_json: bool
) -> None:
    """Measure evaluations of programs on a collection."""
    collection = load_collection(folder)
    settings = BM25Settings(analyzer=analyzer)
    if growth:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows: list[dict[str, Any]] = list(grow(collection, tuple(map(int, sizes.split(","))), settings))
        powers = {}
        if len(rows) > 1:
            powers = {
                "power_of_time": power(rows, "seconds"),
                "power_of_memory": power(rows, "resident_megabytes", above=before),
            }
        found = {"collection": collection.name, **powers, "growth": rows}
        shown = "".join(f"\n{name}: {value:.2f}" for name, value in powers.items())
        click.echo(json.dumps(found, indent=2) if as_json else table(rows) + shown)
        return
    programs = {path.stem: read_program(path) for path in paths} or {
        "full_document": builtin_program("full_document"),
        "four_chunks": Program(FOUR_CHUNKS, "four_chunks"),
    }
    rows = [{"program": name, **measure(collection, program, rounds, settings)} for name, program in programs.items()]
    if as_json:
        least = {key: min(row[key] for row in rows) for key in rows[0] if key.startswith("ratio")}
        click.echo(json.dumps({"collection": collection.name, **least, "programs": rows}, indent=2))
    else:
        click.echo(f"{collection.name}: {len(collection.documents):,} documents, {len(collection.queries)} queries\n")
        click.echo(table(rows))


if __name__ == "__main__":
    main()
