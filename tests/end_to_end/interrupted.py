"""A small run, whole and as it was in the middle, for what happens to runs and for who looks on."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autoindex_haystack.runs import read_result

KITCHEN = Path(__file__).parent / "kitchen"
COMMAND = [sys.executable, "-m", "autoindex_haystack.cli"]
SEARCH = ("--iterations", 3, "--candidates", 3, "--objective", "ndcg@10", "--acceptance", "paper", "--split-seed", 24)
MACHINE = ("--jobs", 1, "--workers", 1)

HOLD = (
    "import sys; from pathlib import Path; from autoindex_haystack.runs.lock import RunLock\n"
    "lock = RunLock(Path(sys.argv[1])); print(flush=True); sys.stdin.read()"
)
"""A process that has a run folder locked."""


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """An unbroken run."""
    out = tmp_path_factory.mktemp("finished") / "run"
    done = subprocess.run(
        list(map(str, [*COMMAND, "optimize", KITCHEN, "--out", out, *SEARCH, *MACHINE])),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert read_result(out).tried >= 6
    return out


@pytest.fixture
def broken(finished, tmp_path):
    """The same run as it was in the middle, elsewhere."""
    run = Path(shutil.copytree(finished, tmp_path / "moved"))
    for left in ("result.json", "comparison.json"):
        (run / left).unlink()
    shutil.rmtree(run / "frozen")
    lines = lines_of(run)
    write_lines(run, lines[: len(lines) // 2])
    return run


def lines_of(run):
    return (run / "journal.jsonl").read_bytes().splitlines(keepends=True)


def write_lines(run, lines):
    (run / "journal.jsonl").write_bytes(b"".join(lines))
