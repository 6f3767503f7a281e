"""What all tests share: a quiet Haystack, one hypothesis profile, and the way to the real collections."""

import os
import shutil
import signal
import subprocess
import sys

# Before anything imports Haystack.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
# A shell starts background jobs with SIGINT ignored, which children inherit; tests that interrupt children need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

CHECKOUT = Path(__file__).resolve().parent.parent

# No deadline (the machine may be busy), and in CI the same examples every time.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def datasets_folder() -> Path:
    """Where the real collections lie: `AUTOINDEX_DATASETS`, else `shared/datasets` beside the checkout."""
    named = os.environ.get("AUTOINDEX_DATASETS")
    return Path(named) if named else CHECKOUT.parent / "shared" / "datasets"


@pytest.fixture(scope="session")
def datasets() -> Path:
    """The folder of the real collections; a test that asks for it is skipped where there is none."""
    folder = datasets_folder()
    if not folder.is_dir():
        pytest.skip(f"no collections at {folder}; set AUTOINDEX_DATASETS to the folder that holds them")
    return folder


@pytest.fixture(scope="session")
def collection_folder(datasets: Path) -> Callable[[str], Path]:
    """Give the folder of a real collection by its name; the test is skipped where it is missing."""

    def find(name: str) -> Path:
        folder = datasets / name
        if not folder.is_dir():
            pytest.skip(f"no collection {name!r} in {datasets}; set AUTOINDEX_DATASETS to the folder that holds it")
        return folder

    return find


@dataclass(frozen=True)
class OtherUser:
    """A user without any rights, and an interpreter of this version that this user may start."""

    python: str
    become: dict[str, Any] = field(default_factory=lambda: {"user": 65534, "group": 65534, "extra_groups": []})


@pytest.fixture(scope="session")
def other_user() -> OtherUser:
    """For tests that start processes of another user's, which only root can."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    candidates = [sys.executable, *filter(None, map(shutil.which, (f"python{version}",))), "/usr/bin/python3"]
    for user in map(OtherUser, dict.fromkeys(candidates)):
        command = [user.python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, env={}, **user.become)
        except OSError:
            continue
        if done.stdout.strip() == version:
            return user
    pytest.skip(f"no Python {version} that a user without rights may start")


@pytest.fixture
def check_index() -> Callable[[Path], None]:
    """Have Lucene itself check its files."""

    def check(folder: Path) -> None:
        from pyserini_backend import jvm
        from pyserini_backend.reader import open_directory

        with jvm.java("the index cannot be checked"):
            directory = open_directory(folder)
            checker = jvm.java_class("org.apache.lucene.index.CheckIndex")(directory)
            status = checker.checkIndex()
            assert status.clean
            assert not status.missingSegments
            checker.close()
            directory.close()

    return check
