"""What isolation is asked of a worker, and what it says is in force; ``worker/isolation.py`` does the locking."""

import functools
import importlib.machinery
import importlib.util
import logging
import re
import site
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from autoindex_haystack.errors import SandboxUnavailable
from autoindex_haystack.program import ALLOWED_MODULES

logger = logging.getLogger(__name__)

Isolation = Literal["full", "process-only"]
"""``full``: every layer, or an error. ``process-only``: what works without the kernel's help, by explicit choice."""

ISOLATIONS: tuple[Isolation, ...] = ("full", "process-only")

_FULL = ("resource limits", "ends with the host", "no capabilities", "no new privileges", "self-test")
_CODEC_WORDS = frozenset({"encode", "decode", "bytes", "bytearray", "codecs", "encoding", "xml"})
_SHARED_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")


def lock_command(isolation: Isolation, memory: int, source: str, packages: Sequence[str]) -> dict[str, Any]:
    """Make the command by which a worker is locked.

    :param isolation: The isolation that is wanted.
    :param memory: Address space of the worker in bytes.
    :param source: The program. The worker is not told of it yet, but for the modules that are imported ahead.
    :param packages: Modules that the program may import beside the usual ones.
    :returns: The command, without the parent.
    :raises ValueError: If there is no such isolation.
    """
    if isolation not in ISOLATIONS:
        msg = f"isolation must be one of {', '.join(ISOLATIONS)}, but got {isolation!r}"
        raise ValueError(msg)
    modules, codecs = imported_ahead(source)
    paths, readable = _package_paths(tuple(packages))
    return {
        "do": "isolate",
        "mode": isolation,
        "memory": memory,
        "modules": modules,
        "packages": list(packages),
        "paths": paths,
        "readable": [*_library_paths(), *readable] if packages else [],
        "codecs": codecs,
    }


def imported_ahead(source: str) -> tuple[list[str], bool]:
    """Tell what a worker imports before it is locked, by the words of a program.

    :param source: The program.
    :returns: The modules of the standard library, and whether all codecs.
    """
    words = set(re.findall(r"\w+", source))
    modules = [name for name in sorted(ALLOWED_MODULES) if words.issuperset(name.split("."))]
    if "pathlib" in words:
        modules.append("pathlib")
    return modules, bool(words & _CODEC_WORDS)


def checked_layers(answer: dict[str, Any], isolation: Isolation) -> tuple[str, ...]:
    """Take over what a worker says is in force.

    :param answer: The worker's answer; it came before the worker knew anything of a program.
    :param isolation: The isolation that was wanted.
    :returns: The layers.
    :raises SandboxUnavailable: If a layer is missing.
    """
    layers = tuple(str(layer) for layer in answer.get("layers", ()))
    if isolation == "process-only":
        _warn_once(layers)
        return layers
    lacking = [layer for layer in _FULL if layer not in layers]
    reason = answer.get("missing") or (f"{', '.join(lacking)} cannot be had" if lacking else "")
    if reason:
        msg = (
            f"programs cannot be isolated on this machine: {reason}. Use a machine or container that allows it, or, "
            "for programs that you trust, choose --sandbox process-only (in Python: isolation='process-only')"
        )
        raise SandboxUnavailable(msg)
    return layers


@functools.cache
def _warn_once(layers: tuple[str, ...]) -> None:
    logger.warning(
        "programs run without the kernel's isolation, as was asked for: they can read and write files and use the "
        "network. In force: %s",
        ", ".join(layers),
    )


@functools.cache
def _package_paths(packages: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Where this process finds packages, nothing being imported: folders to search, and what may be read.

    Where packages are installed, all may be read, since one needs another. Elsewhere, as in a checkout, it is the
    package alone: beside it there may be anything.
    """
    installed = {str(Path(path).resolve()) for path in (*site.getsitepackages(), site.getusersitepackages())}
    library = str(Path(sysconfig.get_path("stdlib")).resolve())
    search: list[str] = []
    readable: list[str] = []
    for package in packages:
        try:
            spec = importlib.util.find_spec(package.partition(".")[0])
        except (ImportError, ValueError):
            continue
        if spec is None or not spec.has_location:
            continue
        own = Path([*(spec.submodule_search_locations or ()), spec.origin or ""][0]).resolve()
        folder = str(own.parent)
        if folder not in (library, f"{library}/lib-dynload"):
            search.append(folder)
            readable.append(folder if folder in installed else str(own))
    return list(dict.fromkeys(search)), list(dict.fromkeys(readable))


@functools.cache
def _library_paths() -> tuple[str, ...]:
    """The interpreter's own library, and shared libraries of the system."""
    own = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    places = {str(Path(path).resolve()) for path in own if path}
    lib = Path(sys.base_exec_prefix, "lib")
    shared = [str(path.resolve()) for path in lib.glob("libpython*.so*")]
    return (*sorted(places), *shared, *_SHARED_LIBRARIES)
