"""Whole experiments on a small collection, by the command line."""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autoindex_haystack.cli.main import main
from autoindex_haystack.experiments.grid import CellResult
from tests.chat_server import Answer, ChatServer

CHECKOUT = Path(__file__).resolve().parents[3]
PAGE = (CHECKOUT / "docs" / "experiments.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The experiment of the page on experiments, run once."""
    place = tmp_path_factory.mktemp("experiment")
    shutil.copytree(CHECKOUT / "tests" / "end_to_end" / "kitchen", place / "my_collection")
    [spec] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (place / "my_experiment.toml").write_text(spec)
    return place


def run(place, monkeypatch, capsys):
    [command] = re.findall(r"```bash\nautoindex (.*?)\n```", PAGE)
    monkeypatch.chdir(place)
    capsys.readouterr()
    code = main(command.split())
    return code, capsys.readouterr()


def test_the_experiment_of_the_page_runs_and_goes_on_where_it_was(place, monkeypatch, capsys):
    code, printed = run(place, monkeypatch, capsys)
    assert code == 0, printed.err
    out = place / "my_experiment"
    files = {path.name for path in out.iterdir()}
    assert {"tables.md", "tables.csv", "tables.tex", "cells", "runs"} <= files
    assert {"gains_recall_at_100.svg", "gains_recall_at_100.png", "progress_ndcg_at_10.svg"} <= files
    assert (out / "gains_recall_at_100.png").read_bytes().startswith(b"\x89PNG")
    cells = {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    assert len(cells) == 2 + 2
    table = (out / "tables.md").read_text()
    assert "| autoindex | " in table
    # One cell is lost, as when the machine stops in the middle of it: only that one is run again.
    lost = next(path for path in cells if "autoindex" in path.name and "seed1" in path.name)
    before = CellResult.model_validate_json(lost.read_bytes())
    lost.unlink()
    code, printed = run(place, monkeypatch, capsys)
    assert code == 0, printed.err
    assert CellResult.model_validate_json(lost.read_bytes()).scores == before.scores
    assert {path: path.stat().st_mtime_ns for path in cells if path != lost} == {
        path: when for path, when in cells.items() if path != lost
    }


def test_a_cell_is_run_again_when_what_decides_its_figures_has_changed(tmp_path, monkeypatch, capsys):
    shutil.copytree(CHECKOUT / "tests" / "end_to_end" / "kitchen", tmp_path / "kitchen")
    program = (CHECKOUT / "autoindex_haystack" / "program" / "builtin" / "full_document.py").read_text()
    (tmp_path / "mine.py").write_text(program)
    (tmp_path / "grid.toml").write_text(
        '[[collections]]\npath = "kitchen"\n[[conditions]]\nname = "mine"\nprogram = "mine.py"\n'
    )
    monkeypatch.chdir(tmp_path)

    def cell():
        assert main(["experiment", "grid.toml", "--out", "out", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["cells"] == 1
        [path] = (tmp_path / "out" / "cells").iterdir()
        return json.loads(path.read_text()), path.stat().st_mtime_ns

    first, again = cell(), cell()
    assert again == first
    (tmp_path / "mine.py").write_text(program + "\n# changed\n")
    changed = cell()
    assert changed[0]["settings"] != first[0]["settings"]
    assert changed[0]["scores"] == first[0]["scores"]


def test_a_search_that_was_killed_goes_on_and_one_of_other_settings_is_begun_anew(tmp_path, monkeypatch, capsys):
    shutil.copytree(CHECKOUT / "tests" / "end_to_end" / "kitchen", tmp_path / "kitchen")
    spec = 'split_seeds = [24]\n[[collections]]\npath = "kitchen"\n[[conditions]]\nname = "learned"\n'
    spec += 'search = { iterations = 2, candidates = 2, objective = "ndcg@10", acceptance = "paper" }'
    (tmp_path / "grid.toml").write_text(spec)
    monkeypatch.chdir(tmp_path)

    def done(out):
        assert main(["experiment", "grid.toml", "--out", out]) == 0, capsys.readouterr().err
        [path] = (tmp_path / out / "cells").iterdir()
        return CellResult.model_validate_json(path.read_bytes())

    command = [sys.executable, "-m", "autoindex_haystack.cli", "experiment", "grid.toml", "--out", "out"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not any(b'"candidate"' in path.read_bytes() for path in tmp_path.glob("out/runs/*/journal.jsonl")):
            assert process.poll() is None
            time.sleep(0.002)
        process.kill()
    [journal] = tmp_path.glob("out/runs/*/journal.jsonl")
    before = journal.read_bytes()
    kept = before[: before.rindex(b"\n") + 1]
    assert not (journal.parent / "result.json").exists()
    went_on = done("out")
    assert journal.read_bytes().startswith(kept)
    unbroken = done("unbroken")
    assert (went_on.scores, went_on.tried) == (unbroken.scores, unbroken.tried)
    assert went_on.program_sha256 == unbroken.program_sha256
    # The last cell's search is finished, but was one of fewer candidates than are asked for now.
    (tmp_path / "grid.toml").write_text(spec.replace("candidates = 2", "candidates = 3"))
    assert done("out").tried > went_on.tried
    assert not journal.read_bytes().startswith(kept)


def test_agents_are_a_condition_and_their_tokens_are_counted(tmp_path, monkeypatch, capsys):
    shutil.copytree(CHECKOUT / "tests" / "end_to_end" / "kitchen", tmp_path / "kitchen")
    with ChatServer([Answer("I have no idea.")]) as server:
        (tmp_path / "grid.toml").write_text(
            'split_seeds = [3]\n[[collections]]\npath = "kitchen"\n[[conditions]]\nname = "agents"\n'
            f'proposer = "agents"\nmodel = "scripted"\nbase_url = "{server.url}"\n'
            'search = { iterations = 1, candidates = 1 }\nagents = { condition = "one-shot" }\n'
        )
        monkeypatch.chdir(tmp_path)
        assert main(["experiment", "grid.toml", "--out", "out"]) == 0, capsys.readouterr().err
        assert server.requests
    [path] = (tmp_path / "out" / "cells").iterdir()
    assert CellResult.model_validate_json(path.read_bytes()).tokens > 0


def test_a_damaged_cell_is_named(tmp_path, monkeypatch, capsys):
    shutil.copytree(CHECKOUT / "tests" / "end_to_end" / "kitchen", tmp_path / "kitchen")
    (tmp_path / "grid.toml").write_text(
        '[[collections]]\npath = "kitchen"\n[[conditions]]\nname = "f"\nprogram = "builtin:full_document"\n'
    )
    monkeypatch.chdir(tmp_path)
    assert main(["experiment", "grid.toml", "--out", "out"]) == 0
    [path] = (tmp_path / "out" / "cells").iterdir()
    path.write_text("{")
    assert main(["experiment", "grid.toml", "--out", "out"]) == 2
    assert "is no finished cell" in capsys.readouterr().err


def test_a_folder_that_holds_something_else_is_not_filled(tmp_path, monkeypatch, capsys):
    shutil.copytree(CHECKOUT / "tests" / "end_to_end" / "kitchen", tmp_path / "kitchen")
    (tmp_path / "grid.toml").write_text(
        '[[collections]]\npath = "kitchen"\n[[conditions]]\nname = "f"\nprogram = "builtin:full_document"\n'
    )
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "kept").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["experiment", "grid.toml", "--out", "index"]) == 2
    assert "index exists" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "index").iterdir()] == ["kept"]
