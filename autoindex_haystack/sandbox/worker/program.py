"""Loading a program: the contract's classes, the modules it may import, and its module code."""

import builtins
import linecache
import sys
from types import ModuleType
from typing import Any

from .errors import FILE_NAME

_HIDDEN = frozenset({"open", "input", "breakpoint", "exit", "quit", "help"})
"""Builtins that a program has no use for. Hiding them gives early, friendly errors; it is no protection."""


class _Record:
    """What a dataclass has, without the module ``dataclasses``, which takes a sixth of a worker's start to load."""

    __match_args__: tuple[str, ...] = ()
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__match_args__)})"

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__match_args__)


class Document(_Record):
    """The worker's own :class:`autoindex_haystack.program.Document`."""

    __match_args__ = ("doc_id", "text", "metadata")
    doc_id: str
    text: str
    metadata: dict[str, Any]

    def __init__(self, doc_id: str, text: str, metadata: dict[str, Any] | None = None) -> None:
        self.doc_id, self.text = doc_id, text
        self.metadata = {} if metadata is None else metadata


class Chunk(_Record):
    """The worker's own :class:`autoindex_haystack.program.Chunk`."""

    __match_args__ = ("chunk_id", "doc_id", "text", "metadata")
    chunk_id: str
    doc_id: str
    text: str
    metadata: dict[str, Any]

    def __init__(self, chunk_id: str, doc_id: str, text: str, metadata: dict[str, Any] | None = None) -> None:
        self.chunk_id, self.doc_id, self.text = chunk_id, doc_id, text
        self.metadata = {} if metadata is None else metadata


class BasePreprocessor:
    """The worker's own :class:`autoindex_haystack.program.BasePreprocessor`."""

    name = ""
    description = ""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}

    def calibrate(self, docs: Any) -> dict[str, Any]:
        """Learn nothing."""
        return {}

    def preprocess(self, docs: list[Document]) -> list[Chunk]:
        """Turn documents into chunks."""
        raise NotImplementedError


def load(source: str, modules: list[str], packages: list[str]) -> dict[str, Any]:
    """Run a program's module code.

    :param source: The program.
    :param modules: The modules it may import.
    :param packages: The modules it may import together with their submodules.
    :returns: Its namespace.
    """
    linecache.cache[FILE_NAME] = (len(source), None, source.splitlines(keepends=True), FILE_NAME)
    # Dataclasses of the program look their module up by its name.
    sys.modules["candidate"] = _module("candidate", __builtins__=_builtins(modules, packages), __file__=FILE_NAME)
    namespace = vars(sys.modules["candidate"])
    # What was imported ahead because the program may use it.
    reseed()
    if "dataclasses" in sys.modules:
        _make_dataclasses(sys.modules["dataclasses"])
    exec(compile(source, FILE_NAME, "exec", dont_inherit=True), namespace)
    return namespace


def _make_dataclasses(module: ModuleType) -> None:
    """Make real dataclasses of the contract's classes, for ``replace``, ``asdict`` and the like."""
    for record in (Document, Chunk):
        if not module.is_dataclass(record):
            record.metadata = module.field(default_factory=dict)
            module.dataclass(record)


def reseed() -> None:
    """Give ``random`` the same state before every call, if the program uses it."""
    random = sys.modules.get("random")
    if random is not None:
        random.seed(0)


def _builtins(modules: list[str], packages: list[str]) -> dict[str, Any]:
    """The program's builtins, with an import that knows the modules provided here and admits those allowed."""
    contract = {"Document": Document, "Chunk": Chunk, "BasePreprocessor": BasePreprocessor}
    program = _module("autoindex_haystack.program", **contract)
    provided = {
        "autoindex_haystack": _module("autoindex_haystack", program=program),
        "autoindex_haystack.program": program,
        "schema": _module("schema", **contract),
        "base": _module("base", **contract),
        "sys": _stand_in_for_sys(),
    }
    real_import = builtins.__import__
    admitted = tuple(f"{package}." for package in packages)

    def import_allowed(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if level == 0 and name == "pathlib" and name not in provided:
            provided[name] = _stand_in_for_pathlib()
        if level == 0 and name in provided:
            return provided[name] if fromlist else provided[name.partition(".")[0]]
        if level != 0 or not (name in modules or f"{name}.".startswith(admitted)):
            raise ImportError(f"import of {name!r} is not allowed")
        fresh = "random" not in sys.modules
        imported = real_import(name, globals, locals, fromlist, level)
        if fresh:
            reseed()
        return imported

    shown = {name: value for name, value in vars(builtins).items() if name not in _HIDDEN}
    return {**shown, "__import__": import_allowed}


def _stand_in_for_sys() -> ModuleType:
    """A harmless ``sys``: what text programs look at, nothing that reaches the interpreter."""

    def leave(code: object = None) -> None:
        raise SystemExit(code)

    names = "maxsize maxunicode byteorder version_info version float_info int_info intern stdout".split()
    members = {name: getattr(sys, name) for name in names}
    return _module("sys", path=[], argv=[FILE_NAME], modules={}, exit=leave, stderr=sys.stdout, **members)


def _stand_in_for_pathlib() -> ModuleType:
    """A harmless ``pathlib``: path arithmetic without a file system. Made on demand: the real one loads slowly."""
    from pathlib import PurePath, PurePosixPath, PureWindowsPath

    pure = {"PurePath": PurePath, "PurePosixPath": PurePosixPath, "PureWindowsPath": PureWindowsPath}
    return _module("pathlib", Path=PurePosixPath, **pure)


def _module(name: str, **members: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(members)
    return made
