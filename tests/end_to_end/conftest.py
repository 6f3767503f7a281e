"""The command line as a user runs it: a process of its own, a small collection, an empty folder for what it writes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autoindex_haystack.cli.main import main
from tests.end_to_end.interrupted import KITCHEN, broken, finished

__all__ = ["broken", "finished"]


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str

    def succeeded(self) -> "Finished":
        assert self.code == 0, self.err
        return self

    def failed(self, code: int, *parts: str) -> "Finished":
        """It ended with this code and one sentence on stderr that has these parts, and printed nothing else."""
        assert self.code == code, f"code {self.code}, stdout {self.out!r}, stderr {self.err!r}"
        assert self.out == ""
        first, _, rest = self.err.partition("\n")
        assert first.startswith("Error: ")
        assert 'File "' not in first
        assert not rest or rest.startswith("Traceback"), rest
        for part in parts:
            assert part in first
        return self


Autoindex = Callable[..., Finished]


@pytest.fixture(scope="session")
def autoindex() -> Autoindex:
    """Run a command: `autoindex("evaluate", folder, "--json")`."""

    def run(*arguments: Any, cwd: Path | None = None, **environment: str) -> Finished:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "AUTOINDEX_"))}
        done = subprocess.run(
            [sys.executable, "-m", "autoindex_haystack.cli", *map(str, arguments)],
            capture_output=True,
            encoding="utf-8",
            cwd=cwd,
            env=kept | environment,
            timeout=300,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str]) -> Autoindex:
    """Run a command in this process, for the many cases where a new one would only take longer."""

    def run(*arguments: Any) -> Finished:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Finished(code, printed.out, printed.err)

    return run


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A copy of a collection of 40 documents and 12 queries, to be spoilt at will."""
    return Path(shutil.copytree(KITCHEN, tmp_path / "kitchen"))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An empty folder for what a command writes."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder
