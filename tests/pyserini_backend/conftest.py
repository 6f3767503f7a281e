"""Lucene for the tests: real, or a clear reason why it is skipped."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from platformdirs import user_cache_path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = [name for name in ("pyserini", "jnius") if importlib.util.find_spec(name) is None]
    if missing:
        skip = pytest.mark.skip(reason=f"the lucene engine is not installed ({', '.join(missing)} missing)")
        for item in items:
            if item.path.is_relative_to(HERE):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def start_python(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.Popen[str]]:
    """Start a script in a Python of its own, to talk to it, to wait for it or to kill it."""

    def start(
        script: str, *, folder: Path | None = None, options: tuple[str, ...] = (), **environment: str | None
    ) -> subprocess.Popen[str]:
        paths = os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "components")])
        whole = {**os.environ, "PYTHONPATH": paths, **environment}
        return subprocess.Popen(
            [sys.executable, *options, "-c", script],
            env={name: value for name, value in whole.items() if value is not None},
            cwd=folder or tmp_path_factory.mktemp("python"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture(scope="session")
def run_python(start_python: Callable[..., subprocess.Popen[str]]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a script in a Python of its own, since a process can start Java only once."""

    def run(script: str, **how: Any) -> subprocess.CompletedProcess[str]:
        with start_python(script, **how) as process:
            try:
                stdout, stderr = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    return run


@pytest.fixture(scope="session")
def pyserini() -> Callable[..., str]:
    """Run a command where `python` has the whole of Pyserini, which is installed once for all checkouts."""
    with FileLock(user_cache_path("autoindex-haystack", ensure_exists=True) / "pyserini.lock"):
        subprocess.run(["make", "--silent", ".venv-pyserini"], cwd=CHECKOUT, check=True, timeout=900)
    environment = {
        **os.environ,
        "PATH": f"{CHECKOUT / '.venv-pyserini' / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(HERE / "java_without_vectors"),
        "OPENAI_API_KEY": "none",  # Pyserini asks for one when it is imported.
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # Compiling all of it takes as long as all else.

    def run(command: str, place: Path | None = None) -> str:
        done = subprocess.run(
            command,
            shell=True,
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
