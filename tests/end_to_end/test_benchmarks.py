"""The benchmark of evaluation runs as its first lines say, and prints what others read."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

KITCHEN = Path(__file__).with_name("kitchen")


def benchmark(*options: str) -> Any:
    """What ``benchmarks/evaluation.py --json`` prints for the small collection."""
    command = [sys.executable, "benchmarks/evaluation.py", "--collection", str(KITCHEN), "--json", *options]
    done = subprocess.run(command, cwd=KITCHEN.parents[2], capture_output=True, text=True, check=False, timeout=300)
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
