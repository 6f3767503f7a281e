"""Every command and every example of the README works as it stands there."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
COMMANDS = [line for language, block in BLOCKS if language == "bash" for line in block.splitlines() if line]
PYTHON = [block for language, block in BLOCKS if language == "python"]
[PROGRAM] = [block for block in PYTHON if block.startswith("# my_program.py\n")]
[FREEZING] = [block for block in PYTHON if "write_frozen" in block]
EXAMPLES = [block for block in PYTHON if block not in (PROGRAM, FREEZING)]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder as the README's reader has it: a collection, the scripts on the path, and the demo's component."""
    place = tmp_path_factory.mktemp("reader")
    shutil.copytree(Path(__file__).parent / "kitchen", place / "my_collection")
    (place / "my_program.py").write_text(PROGRAM, encoding="utf-8")
    (place / "my_docs").mkdir()
    (place / "my_docs" / "tea.md").write_text("# Tea\nSteep it for three minutes.\n", encoding="utf-8")
    (place / "my_questions.csv").write_text("question,file\nhow long does tea steep,tea.md\n", encoding="utf-8")
    return place


def run(command, place):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        command, shell=True, check=False, cwd=place, env=environment, capture_output=True, text=True, timeout=300
    )


def test_the_first_two_commands_are_targets_of_the_makefile():
    assert COMMANDS[:2] == ["make demo", "make test"]
    for command in COMMANDS[:2]:
        listed = run(f"cd {CHECKOUT} && {command} --dry-run", CHECKOUT)
        assert listed.returncode == 0, listed.stderr


def test_the_commands_work_one_after_the_other(place):
    for command in COMMANDS[2:]:
        assert command.startswith("autoindex ")
        done = run(command, place)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    assert (place / "my_run" / "frozen" / "program.py").is_file()
    assert (place / "my_passages.run").read_text().startswith("q")
    assert json.loads((place / "my_split.json").read_text())["validation"]


def test_the_haystack_example_works_as_pasted(place):
    [example] = EXAMPLES
    learned = place / "autoindex-demo" / "run" / "frozen"
    done = run("autoindex optimize my_collection --out autoindex-demo/run --iterations 1 --candidates 2 --force", place)
    assert done.returncode == 0, done.stderr
    assert learned.is_dir()
    (place / "example.py").write_text(example, encoding="utf-8")
    done = run("python example.py", place)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "sorted(iterable): returns a new sorted list"


def test_an_own_program_is_frozen_as_pasted_and_indexes(place):
    (place / "freezing.py").write_text(FREEZING, encoding="utf-8")
    for command in (
        "python freezing.py",
        "autoindex verify my_component",
        "autoindex index my_collection --component my_component --backend bm25s --out my_own_index",
    ):
        done = run(command, place)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    assert (place / "my_component" / "program.py").read_text(encoding="utf-8") == PROGRAM


def test_every_environment_variable_of_the_code_is_in_the_table():
    folders = ("autoindex_haystack", "pyserini_backend", "components")
    files = [path for folder in folders for path in (CHECKOUT / folder).rglob("*.py")]
    files.append(CHECKOUT / "tests" / "conftest.py")
    used = {name for path in files for name in re.findall(r"\bAUTOINDEX_[A-Z_]+", path.read_text(encoding="utf-8"))}
    assert used == set(re.findall(r"`(AUTOINDEX_[A-Z_]+)`", README))
