"""The page about runs: its program and its commands work as they stand there."""

import re
import shutil
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "runs.md").read_text(encoding="utf-8")
# The one for MLflow is run where MLflow is.
[PROGRAM] = [block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "MLflow" not in block]
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def test_the_program_and_the_commands_of_the_page_work(tmp_path, monkeypatch, here, capsys):
    shutil.copytree(Path(__file__).parent / "kitchen", tmp_path / "my_collection")
    monkeypatch.chdir(tmp_path)
    found = {}
    exec(PROGRAM, found)
    assert len(found["tried"]) == found["result"].tried > 2, "it was stopped and resumed"
    for command in COMMANDS:
        assert command.startswith("autoindex ")
        here(*command.split()[1:]).succeeded()
