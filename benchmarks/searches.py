"""What a whole search costs, against the same loop with bm25s alone; and whether a large corpus fits into memory.

    python benchmarks/searches.py compare --collection ../shared/datasets/debian_blends_full [--sample 12] [--json]
    python benchmarks/searches.py large --collection ../shared/datasets/debian_blends_full [--documents N] [--json]

``compare`` runs a search and then, for a seeded sample of the programs that it tried, what the loop would do without
ours: let the program calibrate and run over the corpus, tokenize, index and rank its chunks with bm25s, MaxP in numpy.
The time of the plain loop is the mean of the sample times the number of programs, with its standard error, and what the
search spent on proposing, diagnosing and checking again, which is the same work. ``--sample 0`` measures all programs.

``large`` makes a corpus of so many documents of about 1 KB by repeating and perturbing those of a collection, runs
``autoindex optimize`` on it and tells the memory that its processes had at most, together: each page counted once
(proportional set size).
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
from evaluation import plain, table

from autoindex_haystack import load_collection, optimize
from autoindex_haystack.collection import Collection
from autoindex_haystack.evaluation import Evaluator
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.program import Program
from autoindex_haystack.runs import RunResult, read_journal

SAME_WORK = ("propose", "diagnose", "check again")
"""What a loop does whatever evaluates its programs."""

BYTES = 1_000
TICK = 0.5
LIMIT = 6 << 30

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group()
def main() -> None:
    """Measure whole searches."""


@main.command()
@click.option("--collection", "folder", required=True, type=FOLDER)
@click.option("--iterations", default=10, show_default=True, type=click.IntRange(min=1))
@click.option("--candidates", default=8, show_default=True, type=click.IntRange(min=1))
@click.option("--jobs", default=os.cpu_count(), show_default=True, type=click.IntRange(min=1))
@click.option("--sample", default=12, show_default=True, type=click.IntRange(min=0), help="Programs; 0 for all.")
@click.option("--seed", default=0, show_default=True, help="Of the sample.")
@click.option("--json", "as_json", is_flag=True)
def compare(folder: Path, iterations: int, candidates: int, jobs: int, sample: int, seed: int, as_json: bool) -> None:
    """Compare a search with the same loop on bm25s alone."""
    collection = load_collection(folder)
    with tempfile.TemporaryDirectory() as place:
        run = Path(place, "run")
        settings = SearchSettings(iterations=iterations, candidates=candidates, jobs=jobs)
        result = optimize(collection, run, settings=settings)
        records = read_journal(run)
        queries = json.loads((run / "split.json").read_text(encoding="utf-8"))["validation"]
        tried = [record["program"] for record in records if record["record"] in ("evaluation", "dropped")]
        chosen = random.Random(seed).sample(tried, sample) if 0 < sample < len(tried) else tried
        rows = []
        for number, sha256 in enumerate(chosen, start=1):
            click.echo(f"program {number} of {len(chosen)}", err=True)
            rows.append(plain_candidate(collection, Program(stored(run, sha256)), queries, jobs))
    found = {"collection": collection.name, "documents": len(collection.documents), **summary(result, len(tried), rows)}
    click.echo(json.dumps({**found, "programs": rows}, indent=2) if as_json else table([found]))


def stored(run: Path, sha256: str) -> str:
    """The source of a program of a run."""
    return (run / "programs" / f"{sha256}.py").read_text(encoding="utf-8")


def plain_candidate(collection: Collection, program: Program, queries: list[str], workers: int) -> dict[str, float]:
    """Seconds of one candidate in the plain loop."""
    with Evaluator(collection, workers=workers, exact=False) as evaluator:
        began = time.perf_counter()
        chunks, _ = evaluator.run(program)
        ran = time.perf_counter() - began
    texts = {query: collection.queries[query] for query in queries}
    qrels = {query: collection.qrels[query] for query in queries}
    evaluated, _, _ = plain(chunks, list(chunks.texts), texts, qrels)
    return {"program": ran, "evaluation": evaluated, "total": ran + evaluated}


def summary(result: RunResult, tried: int, rows: list[dict[str, float]]) -> dict[str, float]:
    """The search against the plain loop."""
    totals = [row["total"] for row in rows]
    same = sum(result.seconds[phase] for phase in SAME_WORK)
    loop = same + tried * statistics.fmean(totals)
    error = tried * statistics.stdev(totals) / len(totals) ** 0.5 if 1 < len(totals) < tried else 0.0
    return {
        "tried": tried,
        "measured": len(rows),
        "seconds_ours": result.seconds["total"],
        "seconds_plain": loop,
        "standard_error": error,
        "ratio": loop / result.seconds["total"],
        "ratio_evaluation": tried * statistics.fmean(totals) / max(1e-9, result.seconds["total"] - same),
    }


@main.command()
@click.option("--collection", "folder", required=True, type=FOLDER, help="Whose documents are repeated.")
@click.option("--documents", default=1_000_000, show_default=True, type=click.IntRange(min=1))
@click.option("--iterations", default=2, show_default=True, type=click.IntRange(min=1))
@click.option("--candidates", default=4, show_default=True, type=click.IntRange(min=1))
@click.option("--json", "as_json", is_flag=True)
def large(folder: Path, documents: int, iterations: int, candidates: int, as_json: bool) -> None:
    """Run a search on a large corpus and tell its memory."""
    with tempfile.TemporaryDirectory() as place:
        corpus = Path(place, "corpus")
        size = repeat(folder, corpus, documents)
        command = [sys.executable, "-m", "autoindex_haystack.cli", "optimize", str(corpus)]
        command += ["--out", str(Path(place, "run")), "--iterations", str(iterations), "--candidates", str(candidates)]
        began = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            most = 0
            while process.poll() is None:
                most = max(most, resident(process.pid))
                time.sleep(TICK)
        if process.returncode:
            msg = f"the search ended with exit code {process.returncode}"
            raise SystemExit(msg)
        found = {
            "documents": documents,
            "megabytes": size / 1e6,
            "seconds": time.perf_counter() - began,
            "gigabytes_resident": most / (1 << 30),
            "under_6_gigabytes": most < LIMIT,
        }
    click.echo(json.dumps(found, indent=2) if as_json else table([found]))


def repeat(folder: Path, out: Path, documents: int) -> int:
    """Write a collection whose documents are those of another one over and over, about 1 KB each, words changed.

    Queries and judgments stay, of the first copies. Returns the bytes of the texts.
    """
    collection = load_collection(folder)
    out.mkdir()
    rng = random.Random(0)
    size, given = 0, collection.documents
    with (out / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for i in range(max(documents, len(given))):
            document = given[i % len(given)]
            text = document.text[:BYTES]
            while i >= len(given) and len(text) < BYTES:
                more = given[rng.randrange(len(given))].text
                text = f"{text} {more[: BYTES - len(text)]}"
            if i >= len(given):
                words = text.split(" ")
                for _ in range(len(words) // 10):
                    words[rng.randrange(len(words))] = f"w{rng.randrange(100_000)}"
                text = " ".join(words)
            size += len(text)
            name = document.doc_id if i < len(given) else f"{document.doc_id}~{i // len(given)}"
            title = str(document.metadata.get("title") or "")
            file.write(json.dumps({"_id": name, "title": title, "text": text}) + "\n")
    with (out / "queries.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"_id": q, "text": text}) + "\n" for q, text in collection.queries.items())
    with (out / "qrels.tsv").open("w", encoding="utf-8") as file:
        file.write("query-id\tcorpus-id\tscore\n")
        file.writelines(f"{q}\t{d}\t{g}\n" for q, grades in collection.qrels.items() for d, g in grades.items())
    return size


def resident(pid: int) -> int:
    """Bytes of memory of a process and all that it started, each shared page counted once."""
    waiting, total = [pid], 0
    while waiting:
        process = Path("/proc", str(waiting.pop()))
        try:
            rollup = (process / "smaps_rollup").read_text()
            waiting += map(int, " ".join(t.read_text() for t in process.glob("task/*/children")).split())
        except (OSError, ProcessLookupError):
            continue  # It has ended.
        total += sum(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))
    return total


if __name__ == "__main__":
    main()
