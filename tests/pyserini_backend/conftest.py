"""Lucene for the tests: real, or a clear reason why it is skipped."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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
def run_python(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a script in a Python of its own, since a process can start Java only once."""

    def run(
        script: str, *, folder: Path | None = None, options: tuple[str, ...] = (), **environment: str | None
    ) -> subprocess.CompletedProcess[str]:
        paths = os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "components")])
        whole = {**os.environ, "PYTHONPATH": paths, **environment}
        return subprocess.run(
            [sys.executable, *options, "-c", script],
            env={name: value for name, value in whole.items() if value is not None},
            cwd=folder or tmp_path_factory.mktemp("python"),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run
