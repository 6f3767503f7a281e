"""What indexing in blocks takes: time, memory and disk by number of documents and workers, and what follows from it.

    .venv/bin/python benchmarks/scale.py COLLECTION FROZEN --documents 10000 --documents 100000 --documents 1000000

repeats the documents of a collection under new ids until there are so many, runs ``autoindex index --engine`` over them
with each number of workers, and fits a line to each figure: what a job takes at least, and what it takes for a million
documents more. From these lines come the machine hours, the disk and the memory for 100 million and 10 billion
documents. Repeated documents have no new words, so that real corpora have somewhat larger term dictionaries.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from autoindex_haystack.collection import load_corpus

RUN_COLUMNS = ("documents", "workers", "seconds", "CPU seconds", "documents/s", "memory MB", "chunks MB", "index MB")
FIT_COLUMNS = ("workers", "fixed s", "s a million", "CPU s a million", "disk GB a million", "memory GB a million", "r²")
PLAN_COLUMNS = ("documents", "core hours", "machine hours", "machines for a day", "disk TB", "USD")
FAR = (100_000_000, 10_000_000_000)
RIGHT = 0.95
DAY = 24 * 3600
TICKS = os.sysconf("SC_CLK_TCK")


@click.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.argument("frozen", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--documents", "sizes", multiple=True, type=int, default=(10_000, 30_000), help="Repeatable.")
@click.option("--workers", "workers", multiple=True, type=int, default=(1, 2), help="Repeatable.")
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True)
@click.option("--block-size", type=int, default=16, show_default=True, help="MiB.")
@click.option("--usd-per-hour", type=float, default=0.1, show_default=True, help="Price of a machine such as this one.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def main(
    folder: Path,
    frozen: Path,
    sizes: tuple[int, ...],
    workers: tuple[int, ...],
    engine: str,
    block_size: int,
    usd_per_hour: float,
    as_json: bool,
) -> None:
    """Measure indexing the documents of COLLECTION with FROZEN, and plan for many more."""
    fields = json.loads((frozen / "manifest.json").read_text(encoding="utf-8"))["settings"]["metadata_fields"]
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="scale-") as name:
        place = Path(name)
        for size in sorted(sizes):
            bytes_ = write_corpus(folder, fields, size, place / "corpus")
            for count in workers:
                found.append(
                    {"documents": size, "corpus_bytes": bytes_} | run(place, frozen, engine, count, block_size)
                )
                click.echo(table([run_row(found[-1])]), err=True)
            shutil.rmtree(place / "corpus")
    fits = [fit([one for one in found if one["workers"] == count], count) for count in workers]
    plans = [plan(fits[-1], size, usd_per_hour) for size in FAR]
    if as_json:
        click.echo(json.dumps({"runs": found, "fits": fits, "plans": plans}, indent=1))
        return
    click.echo(table([RUN_COLUMNS, *map(run_row, found)]))
    click.echo("\n" + table([FIT_COLUMNS, *map(fit_row, fits)]))
    click.echo("\n" + table([PLAN_COLUMNS, *map(plan_row, plans)]))
    if any(line["seconds"] <= 0 or (line["r2"] or RIGHT) < RIGHT for line in fits):
        click.echo("The seconds are not on a line: take more documents, or a machine without other work.", err=True)


def write_corpus(folder: Path, fields: list[str], size: int, place: Path) -> int:
    """Write so many documents in files of 100,000; returns their bytes."""
    place.mkdir()
    documents = load_corpus(folder, metadata_fields=fields)
    total = 0
    for begin in range(0, size, 100_000):
        with (place / f"part-{begin // 100_000:04d}.jsonl").open("w", encoding="utf-8") as file:
            for number in range(begin, min(begin + 100_000, size)):
                document = documents[number % len(documents)]
                metadata = dict(document.metadata)
                record = {"_id": f"{number:012d}", "title": metadata.pop("title", ""), "text": document.text}
                total += file.write(json.dumps(record | {"metadata": metadata}, ensure_ascii=False) + "\n")
    return total


def run(place: Path, frozen: Path, engine: str, workers: int, block_size: int) -> dict[str, Any]:
    """Index the corpus; returns what it took."""
    out = place / "out"
    command = [sys.executable, "-m", "autoindex_haystack.cli", "index", place / "corpus", "--component", frozen]
    command += ["--engine", engine, "--workers", workers, "--backend", "lucene", "--block-size", block_size]
    command += ["--timeout", 100_000, "--out", out, "--json"]
    began, before = time.monotonic(), children_seconds()
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
        watch = Watch(process.pid)
        assert process.stdout
        printed = process.stdout.read()
    seconds, watched = time.monotonic() - began, watch.end()
    # What ended between two looks is missing in the one, what nobody waited for in the other.
    watched["cpu_seconds"] = max(watched["cpu_seconds"], children_seconds() - before)
    if process.returncode:
        raise SystemExit(process.returncode)
    made = json.loads(printed)
    disk = {name: sum(p.stat().st_size for p in (out / name).rglob("*") if p.is_file()) for name in ("chunks", "index")}
    shutil.rmtree(out)
    kept = {name: made[name] for name in ("chunks", "document_bytes", "chunk_bytes", "stages", "blocks")}
    return {"engine": engine, "workers": workers, "seconds": seconds, **watched, "disk": disk, **kept}


class Watch:
    """Adds up memory and time of a process and all that it starts, several times a second.

    :param pid: The process.
    """

    def __init__(self, pid: int) -> None:
        self._pid, self._over = pid, threading.Event()
        self._memory = 0
        self._ticks: dict[tuple[int, str], int] = {}
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def end(self) -> dict[str, float]:
        """Returns the largest memory (PSS) in bytes and the CPU time in seconds."""
        self._over.set()
        self._thread.join()
        return {"memory": self._memory, "cpu_seconds": sum(self._ticks.values()) / TICKS}

    def _look(self) -> None:
        while not self._over.wait(0.3):
            family = list(self._family())
            self._memory = max(self._memory, sum(map(proportional_bytes, family)))

    def _family(self) -> Iterator[int]:
        """The process and its descendants; notes how long each has worked."""
        children: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                children.setdefault(int(fields[1]), []).append(int(entry.name))
                self._ticks_of(int(entry.name), fields)
        waiting, mine = [self._pid], set()
        while waiting:
            pid = waiting.pop()
            mine.add(pid)
            yield pid
            waiting += children.get(pid, [])
        self._ticks = {key: ticks for key, ticks in self._ticks.items() if key[0] in mine or key[1].startswith("mine")}
        for key in [key for key in self._ticks if not key[1].startswith("mine")]:
            self._ticks[key[0], f"mine {key[1]}"] = self._ticks.pop(key)

    def _ticks_of(self, pid: int, fields: list[str]) -> None:
        born, ticks = fields[19], int(fields[11]) + int(fields[12])
        key = (pid, f"mine {born}") if (pid, f"mine {born}") in self._ticks else (pid, born)
        self._ticks[key] = ticks


def children_seconds() -> float:
    """CPU time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def proportional_bytes(pid: int) -> int:
    """A process's memory, what is shared counted in parts."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Pss:")), 0)


def fit(runs: list[dict[str, Any]], workers: int) -> dict[str, Any]:
    """Lines through the runs with some number of workers."""
    millions = np.array([run["documents"] for run in runs]) / 1e6

    def line(values: list[float]) -> tuple[float, float]:
        if len(set(millions.tolist())) < 2:
            return values[0] / millions[0], 0.0
        slope, fixed = np.polyfit(millions, values, 1)
        return float(slope), float(fixed)

    seconds = [run["seconds"] for run in runs]
    slope, fixed = line(seconds)
    left = np.array(seconds) - (slope * millions + fixed)
    spread = float(((np.array(seconds) - np.mean(seconds)) ** 2).sum())
    return {
        "workers": workers,
        "fixed": fixed,
        "seconds": slope,
        "cpu_seconds": line([run["cpu_seconds"] for run in runs])[0],
        "disk": line([sum(run["disk"].values()) for run in runs])[0],
        "memory": line([run["memory"] for run in runs])[0],
        # Two points are always on a line.
        "r2": 1 - float((left**2).sum()) / spread if len(set(millions.tolist())) > 2 else None,
    }


def plan(line: dict[str, Any], documents: int, usd_per_hour: float) -> dict[str, float]:
    """What so many documents take on machines such as this one, each with as many workers."""
    hours = line["seconds"] * documents / 1e6 / 3600
    return {
        "documents": documents,
        "core_hours": line["cpu_seconds"] * documents / 1e6 / 3600,
        "machine_hours": hours,
        "machines_for_a_day": max(1, -(-hours * 3600 // DAY)),
        "disk": line["disk"] * documents / 1e6,
        "usd": hours * usd_per_hour,
    }


def run_row(found: dict[str, Any]) -> tuple[str, ...]:
    disk = found["disk"]
    return (
        f"{found['documents']:,}",
        str(found["workers"]),
        f"{found['seconds']:.1f}",
        f"{found['cpu_seconds']:.1f}",
        f"{found['documents'] / found['seconds']:,.0f}",
        f"{found['memory'] / 1e6:,.0f}",
        f"{disk['chunks'] / 1e6:,.1f}",
        f"{disk['index'] / 1e6:,.1f}",
    )


def fit_row(found: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"{found['workers']}",
        f"{found['fixed']:.0f}",
        f"{found['seconds']:,.0f}",
        f"{found['cpu_seconds']:,.0f}",
        f"{found['disk'] / 1e9:.2f}",
        f"{found['memory'] / 1e9:.2f}",
        "" if found["r2"] is None else f"{found['r2']:.3f}",
    )


def plan_row(found: dict[str, float]) -> tuple[str, ...]:
    return (
        f"{found['documents']:,}",
        f"{found['core_hours']:,.0f}",
        f"{found['machine_hours']:,.0f}",
        f"{found['machines_for_a_day']:,.0f}",
        f"{found['disk'] / 1e12:,.2f}",
        f"{found['usd']:,.0f}",
    )


def table(rows: list[tuple[str, ...]]) -> str:
    """Rows as Markdown; the first is the head if there are more."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]] if len(rows) > 1 else lines)


if __name__ == "__main__":
    main()
