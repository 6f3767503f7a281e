"""What a program may need once files are closed: its modules, imported ahead, and the codecs, kept as byte code.

Importing all codecs would take longer than starting the worker. So their byte code is read and only run when a codec is
asked for.
"""

import encodings
import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence

from .finder import CodeShelf

_ALWAYS = (*"copy heapq types typing warnings weakref encodings.ascii encodings.latin_1 encodings.utf_16".split(),)
"""What the standard library's own functions import late."""

_CODECS_NEED = ("base64", "binascii", "bz2", "quopri", "stringprep", "unicodedata", "uu", "zlib")
_C_CODECS = ("_multibytecodec", *(f"_codecs_{name}" for name in ("cn", "hk", "iso2022", "jp", "kr", "tw")))
_ELSEWHERE = frozenset({"mbcs", "oem", "cp65001"})
"""Codecs of Windows."""

_PYC_HEAD = 16
_PREFIX = "encodings."


def preload(modules: Sequence[str], *, codecs: bool) -> None:
    """Import what a program may need; what this Python does not have is left out.

    :param modules: Modules that the program may import.
    :param codecs: Whether it may use other codecs than UTF-8.
    """
    _import((*_ALWAYS, *modules))
    if codecs:
        _import((*_CODECS_NEED, *_C_CODECS))
        sys.meta_path.insert(0, CodeShelf(_read_codecs()))
    if "hashlib" in sys.modules:
        # OpenSSL reads its settings at the first use.
        sys.modules["hashlib"].new("sha256")


def _read_codecs() -> dict[str, bytes]:
    """The byte code of all codecs; those without any are imported at once."""
    folder = encodings.__path__[0]
    tail = f".{sys.implementation.cache_tag}.pyc"
    found: dict[str, bytes] = {}
    for entry in os.listdir(folder):
        name, ending = os.path.splitext(entry)
        if ending != ".py" or name in _ELSEWHERE or _PREFIX + name in sys.modules:
            continue
        data = _read(f"{folder}/__pycache__/{name}{tail}")
        if data[:4] == importlib.util.MAGIC_NUMBER:
            found[_PREFIX + name] = data[_PYC_HEAD:]
        elif name != "__init__":
            _import((_PREFIX + name,))
    return found


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def _import(names: Sequence[str]) -> None:
    for name in names:
        try:
            importlib.import_module(name)
        except Exception:
            # A program that needs it is told when it imports it.
            continue
