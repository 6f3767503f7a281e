"""Outputs are written whole, never over something that is there, and only where they may be."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


def _commands(kitchen, place):
    return {
        "split": ("split", kitchen, "--out", place),
        "optimize": ("optimize", kitchen, "--out", place, "--iterations", 0),
        "run file": ("evaluate", kitchen, "--run-file", place),
        "per query": ("evaluate", kitchen, "--per-query", place),
        "index": ("index", kitchen, "--out", place),
        "demo": ("demo", "--out", place),
    }


OUTPUTS = ("split", "optimize", "run file", "per query", "index", "demo")


@pytest.mark.parametrize("output", OUTPUTS)
def test_an_output_that_exists_is_refused(output, kitchen, out, here):
    for place, kept in ((out / "file", out / "file"), (out / "folder", out / "folder" / "mine")):
        kept.parent.mkdir(exist_ok=True)
        kept.write_text("mine")
        here(*_commands(kitchen, place)[output]).failed(2, str(place), "exists", "--force")
        assert kept.read_text() == "mine"


@pytest.mark.parametrize("output", OUTPUTS)
def test_an_output_below_a_file_is_refused(output, kitchen, out, here):
    (out / "file").write_text("mine")
    here(*_commands(kitchen, out / "file" / "below")[output]).failed(2, "below", "is no folder")
    assert (out / "file").read_text() == "mine"


@pytest.mark.parametrize("output", OUTPUTS)
def test_an_output_in_a_read_only_folder_is_refused(output, kitchen, out, here):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    out.chmod(0o555)
    here(*_commands(kitchen, out / "below")[output]).failed(2, "below", "read-only")
    out.chmod(0o755)
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("output", OUTPUTS[:-1])
def test_an_output_where_nobody_can_write_is_refused(output, kitchen, here):
    if not Path("/proc/self").is_dir():
        pytest.skip("no /proc here")
    here(*_commands(kitchen, "/proc/autoindex/below")[output]).failed(2, "/proc", "choose another")


@pytest.mark.parametrize("output", ["split", "optimize", "run file", "index"])
def test_force_replaces_what_is_there(output, kitchen, out, here):
    place = out / "place"
    if output in ("optimize", "index"):
        place.mkdir()
        (place / "old").write_text("old")
    else:
        place.write_text("old")
    here(*_commands(kitchen, place)[output], "--force").succeeded()
    assert [path.name for path in out.iterdir()] == ["place"]
    assert not (place / "old").exists()


@pytest.mark.parametrize("output", ["split", "optimize", "run file", "index"])
def test_an_output_never_replaces_the_input(output, kitchen, here, monkeypatch):
    before = sorted(kitchen.rglob("*"))
    here(*_commands(kitchen, kitchen)[output], "--force").failed(2, "would replace")
    here(*_commands(kitchen, kitchen.parent)[output], "--force").failed(2, "would replace")
    monkeypatch.chdir(kitchen)
    here(*_commands(kitchen, ".")[output], "--force").failed(2, "would replace")
    assert sorted(kitchen.rglob("*")) == before


def test_a_failing_program_with_force_leaves_the_old_index(kitchen, out, tmp_path, here):
    here("index", kitchen, "--out", out / "index").succeeded()
    program = tmp_path / "program.py"
    program.write_text("raise ValueError\nclass Preprocessor(BasePreprocessor):\n    def preprocess(self, docs): ...")
    here("index", kitchen, "--program", program, "--out", out / "index", "--force").failed(1, "raised")
    assert [path.name for path in out.iterdir()] == ["index"]
    assert json.loads(here("search", out / "index", "bread", "--json").succeeded().out)["results"]


def test_metrics_by_query_are_written_as_a_table_or_as_json_lines(kitchen, out, here):
    here("evaluate", kitchen, "--per-query", out / "q.tsv").succeeded()
    header, *rows = [line.split("\t") for line in (out / "q.tsv").read_text().splitlines()]
    assert header == ["query_id", "recall@100", "ndcg@10", "ndcg_binary@10", "recall@10", "mrr@10"]
    assert [row[0] for row in rows] == [f"q{i:02}" for i in range(1, 13)]
    here("evaluate", kitchen, "--per-query", out / "q.jsonl").succeeded()
    records = [json.loads(line) for line in (out / "q.jsonl").read_text().splitlines()]
    assert [record["query_id"] for record in records] == [row[0] for row in rows]
    assert [f"{record['ndcg@10']:.6f}" for record in records] == [row[2] for row in rows]


def test_an_id_with_white_space_is_no_run_file(kitchen, out, here):
    text = (kitchen / "corpus.jsonl").read_text()
    (kitchen / "corpus.jsonl").write_text(text.replace('"0002"', '"00 02"'))
    here("evaluate", kitchen, "--run-file", out / "run.trec").failed(2, "'00 02'", "white space")
    assert list(out.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_command_leaves_nothing_and_says_so(number, code, kitchen, out, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from autoindex_haystack.program import BasePreprocessor\n"
        "class Preprocessor(BasePreprocessor):\n"
        "    def preprocess(self, docs):\n"
        "        while True: pass\n"
    )
    arguments = ["index", str(kitchen), "--program", str(program), "--out", str(out / "index")]
    process = subprocess.Popen(
        [sys.executable, "-m", "autoindex_haystack.cli", *arguments], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(out.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in err
    assert ("interrupted" in err) == (number == signal.SIGINT)
    assert list(out.iterdir()) == []
