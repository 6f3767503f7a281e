"""Benchmarks run as their first lines say, and print what others read."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from autoindex_haystack import optimize
from autoindex_haystack.frozen import ComponentSettings, new_manifest, write_frozen
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.program import builtin_program

KITCHEN = Path(__file__).with_name("kitchen")


def benchmark(*options: str) -> Any:
    """What ``benchmarks/evaluation.py --json`` prints for the small collection."""
    return run("benchmarks/evaluation.py", "--collection", str(KITCHEN), *options)


def run(*command: str) -> Any:
    """What a benchmark prints with ``--json``."""
    whole = [sys.executable, *command, "--json"]
    done = subprocess.run(whole, cwd=KITCHEN.parents[2], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_benchmark_of_evaluation_gives_four_ratios_the_smallest_of_its_programs():
    found = benchmark("--rounds", "1")
    assert [row["program"] for row in found["programs"]] == ["full_document", "four_chunks"]
    assert [row["chunks"] for row in found["programs"]] == [40, 160]
    for ratio in ("ratio_cold", "ratio_incremental", "ratio_cold_dict", "ratio_incremental_dict"):
        assert found[ratio] == min(row[ratio] for row in found["programs"]) > 0


def test_the_benchmark_of_evaluation_grows_a_corpus():
    found = benchmark("--growth", "--sizes", "50,600")
    assert [row["documents"] for row in found["growth"]] == [50, 600]
    assert all(row["seconds"] > 0 and row["resident_megabytes"] > 0 for row in found["growth"])
    assert {"power_of_time", "power_of_memory"} < found.keys()


def test_the_benchmark_of_evaluation_knows_every_analyzer():
    found = benchmark("--rounds", "1", "--analyzer", "lucene-english")
    assert found["ratio_cold"] > 0


def test_the_benchmark_of_searches_measures_a_sample_of_the_programs_and_says_so():
    short = ["--collection", str(KITCHEN), "--iterations", "1", "--candidates", "2"]
    found = run("benchmarks/searches.py", "compare", *short, "--jobs", "1", "--sample", "1")
    assert (found["measured"], len(found["programs"])) == (1, 1)
    assert found["tried"] >= found["measured"]
    assert found["ratio"] == found["seconds_plain"] / found["seconds_ours"] > 0


def test_the_benchmark_of_searches_tells_the_memory_of_a_large_corpus():
    short = ["--collection", str(KITCHEN), "--iterations", "1", "--candidates", "1"]
    found = run("benchmarks/searches.py", "large", *short, "--documents", "300")
    assert found["documents"] == 300
    assert 0.2 < found["megabytes"] < 0.4
    assert 0.05 < found["gigabytes_resident"] < 6


def test_the_benchmark_of_stores_sets_each_store_beside_its_engine():
    found = run("-m", "benchmarks.stores", "--documents", "300", "--queries", "3", "--rounds", "1", "--store", "bm25s")
    assert found["documents"] == 300
    assert [row["what"].split(",")[0] for row in found["rows"]] == [
        "bm25s store / engine",
        "bm25s store / engine",
        "in-memory BM25 / bm25s store",
        "bm25s store / engine and documents",
    ]
    assert all(row["ratio"] == row["first"] / row["second"] > 0 for row in found["rows"])


def test_the_benchmark_of_the_preprocessor_tells_what_haystack_leaves_of_the_speed():
    found = run("-m", "benchmarks.preprocessor", "--documents", "50", "--rounds", "1")
    assert [row["program"] for row in found["programs"]] == ["passages", "lead+word_forms"]
    for row in found["programs"]:
        assert 0 < row["highest_ratio"] < 1
        assert row["component_ratio"] > 0 < row["pipeline_ratio"]


def test_the_benchmark_of_null_runs_does_whole_runs_on_judgments_drawn_by_chance():
    given = ["--collection", KITCHEN.name, "--documents", "12", "--queries", "4", "--times", "1"]
    command = [sys.executable, "benchmarks/null_runs.py", str(KITCHEN.parent), *given]
    done = subprocess.run(command, cwd=KITCHEN.parents[2], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("| kitchen | 4 | 1 | ")


def made(script: str, *arguments: object) -> str:
    """The table that a benchmark prints."""
    command = [sys.executable, f"benchmarks/{script}.py", *map(str, arguments)]
    done = subprocess.run(command, cwd=KITCHEN.parents[2], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_programs_are_transferred_and_ranked_by_synthetic_queries(tmp_path: Path) -> None:
    for name in ("kitchen", "pantry"):
        shutil.copytree(KITCHEN, tmp_path / "datasets" / name)
    settings = SearchSettings(iterations=0)
    start = KITCHEN.parents[2] / "autoindex_haystack" / "program" / "builtin" / "passages.py"
    optimize(tmp_path / "datasets" / "pantry", tmp_path / "runs" / "pantry-0", settings=settings, start=start)
    common = (tmp_path / "datasets", "--runs", tmp_path / "runs", "--collection", "kitchen")
    learned = ("--learned-on", "pantry", "--iterations", 0)
    first = made("transfer", *common, *learned, "--results", tmp_path / "transfer")
    assert "| learned on | kitchen | mean |" in first
    assert "| pantry | +" in first or "| pantry | -" in first
    # What is there is not made again.
    shutil.rmtree(tmp_path / "runs" / "pantry-0" / "frozen")
    assert made("transfer", *common, *learned, "--results", tmp_path / "transfer") == first
    optimize(tmp_path / "datasets" / "pantry", tmp_path / "runs" / "other-0", settings=settings)
    ranked = made("synthetic", *common, "--learned", "other-0", "--results", tmp_path / "synthetic", "--number", 10)
    assert [line.split(" | ")[0] for line in ranked.splitlines()[2:4]] == ["| kitchen"] * 2


def test_a_sample_that_is_everything_ranks_programs_as_the_whole_does(tmp_path: Path) -> None:
    settings = SearchSettings(iterations=1, candidates=3, objective="ndcg@10")
    optimize(KITCHEN, tmp_path / "run", settings=settings, split_seed=1)
    half, whole = run("benchmarks/sampling.py", str(KITCHEN), str(tmp_path / "run"), "--share", "0.5", "--share", "1")
    assert (whole["documents"], whole["sample"], whole["lost"]) == (40, 40, 0)
    assert half["sample"] < 40
    for name in ("tau recall", "tau ndcg"):
        assert whole[name] in (0, pytest.approx(1))


@pytest.mark.full
def test_the_benchmark_of_scale_fits_lines_and_plans(tmp_path: Path) -> None:
    program = builtin_program("full_document")
    write_frozen(tmp_path / "frozen", new_manifest(program, {}, ComponentSettings()), program, {})
    options = ["--documents", "40", "--documents", "400", "--workers", "1"]
    found = run("benchmarks/scale.py", str(KITCHEN), str(tmp_path / "frozen"), *options)
    assert [(one["documents"], one["chunks"], one["workers"]) for one in found["runs"]] == [(40, 40, 1), (400, 400, 1)]
    assert all(one["memory"] > 1e7 and one["cpu_seconds"] > 0.1 for one in found["runs"])
    assert [one["documents"] for one in found["plans"]] == [100_000_000, 10_000_000_000]
    [line] = found["fits"]
    small, large = (sum(one["disk"].values()) for one in found["runs"])
    assert line["disk"] == pytest.approx((large - small) / 360 * 1e6)


def test_the_table_of_what_helped_names_no_collection_and_holds_what_was_tried(tmp_path: Path) -> None:
    settings = SearchSettings(iterations=1, candidates=8, objective="ndcg@10")
    optimize(KITCHEN, tmp_path / "run", settings=settings, split_seed=1)
    out = tmp_path / "priors.json"
    command = [sys.executable, "benchmarks/priors.py", f"{KITCHEN}={tmp_path / 'run'}", "--out", str(out)]
    done = subprocess.run(command, cwd=KITCHEN.parents[2], capture_output=True, text=True, check=True, timeout=300)
    assert KITCHEN.name not in out.read_text()
    (row,) = json.loads(out.read_text())["rows"]
    assert done.stdout == f"1 rows, {len(row['gain'])} gains\n"
    assert set(row) == {"corpus", "kind", "gain", "surplus"}
    assert row["gain"]
    assert all(set(gain) == {"recall@100", "ndcg@10"} for gain in (*row["gain"].values(), *row["surplus"].values()))
    assert set(row["surplus"]) <= set(row["gain"])
