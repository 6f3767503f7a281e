"""The pages of the modules that are written in C, wholly or in part: they have no source to read, so they are imported.

The list is fixed: these modules do nothing on import, and the command line has loaded most of them anyway.
"""

import importlib
import inspect
import re
import types
from collections.abc import Iterator
from typing import Any

from autoindex_haystack.experiments.demo.entries import (
    Entry,
    class_entry,
    clean_docstring,
    function_entry,
    is_public,
    module_entry,
)

IMPORTED_MODULES = tuple(
    """
    array atexit binascii bisect builtins bz2 calendar cmath collections collections.abc contextvars csv ctypes datetime
    decimal faulthandler fcntl functools gc grp hashlib heapq hmac io itertools locale lzma marshal math mmap
    multiprocessing operator os os.path pickle pwd queue random re resource secrets select signal socket sqlite3 ssl
    stat struct sys syslog termios threading time tracemalloc types typing unicodedata warnings weakref
    xml.parsers.expat zlib zoneinfo
    """.split()
)
"""Modules that are read by importing them; one that an interpreter was built without is left out."""

# Types whose methods everybody calls, but whose own name is private: the page of a method stands under the public name
# that makes the object.
_HIDDEN_TYPES = {
    "csv.reader": "_csv.Reader",
    "csv.writer": "_csv.Writer",
    "functools.lru_cache": "functools._lru_cache_wrapper",
    "hashlib.sha256": "_hashlib.HASH",
    "io.BufferedIOBase": "_io._BufferedIOBase",
    "io.IOBase": "_io._IOBase",
    "io.RawIOBase": "_io._RawIOBase",
    "io.TextIOBase": "_io._TextIOBase",
    "random.Random": "_random.Random",
    "socket.socket": "_socket.socket",
    "ssl.SSLContext": "_ssl._SSLContext",
    "threading.Lock": "_thread.LockType",
    "zlib.compressobj": "zlib.Compress",
    "zlib.decompressobj": "zlib.Decompress",
}
_HOMES = {"os": {"posix", "nt"}, "os.path": {"posixpath", "ntpath", "genericpath"}}
_MEMBER_TYPES = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    classmethod,
    staticmethod,
    property,
)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def imported_entries() -> Iterator[Entry]:
    """Yield the pages of `IMPORTED_MODULES`: modules, classes, functions, methods and properties."""
    modules = {name: module for name in IMPORTED_MODULES if (module := _import(name))}
    for name, module in modules.items():
        yield from _module_entries(name, module, modules)
    for public, private in _HIDDEN_TYPES.items():
        module_name, _, attribute = private.rpartition(".")
        hidden = getattr(_import(module_name), attribute, None)
        if isinstance(hidden, type):
            yield from _member_entries(public, hidden)


def _import(name: str) -> types.ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _module_entries(
    name: str, module: types.ModuleType, modules: dict[str, types.ModuleType]
) -> Iterator[Entry]:
    prefix = "" if name == "builtins" else f"{name}."
    classes, functions = [], []
    for attribute, value in _public_values(name, module, modules):
        entries = list(_value_entries(prefix + attribute, value))
        if entries:
            (classes if inspect.isclass(value) else functions).append(attribute)
        yield from entries
    docstring = clean_docstring(module.__doc__)
    if docstring:
        yield module_entry(name, docstring, classes, functions)


def _public_values(
    name: str, module: types.ModuleType, modules: dict[str, types.ModuleType]
) -> Iterator[tuple[str, Any]]:
    """Yield the classes and functions that belong to a module, as `help()` decides it."""
    declared = getattr(module, "__all__", None)
    homes = {name, f"_{name}", None} | _HOMES.get(name, set())
    for attribute in sorted(set(declared if declared is not None else dir(module))):
        value = getattr(module, attribute, None)
        if not is_public(attribute) or not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        home = getattr(value, "__module__", None)
        own_names = [("builtins", value.__qualname__)] + [(home, value.__qualname__)] * (name != "builtins")
        if any((name, attribute) != own and getattr(modules.get(own[0]), own[1], None) is value for own in own_names):
            continue  # an alias: it has its page where it is defined
        if declared is not None or home in homes or name == "builtins":
            yield attribute, value


def _value_entries(name: str, value: Any) -> Iterator[Entry]:
    if not inspect.isclass(value):
        docstring = clean_docstring(value.__doc__)
        if docstring:
            yield function_entry(name, _signature(name, value), docstring)
        return
    members = list(_member_entries(name, value))
    constructor = vars(value).get("__init__")
    docstrings = [clean_docstring(vars(value).get("__doc__"))]
    if isinstance(constructor, types.FunctionType):
        docstrings.append(clean_docstring(constructor.__doc__))
    if any(docstrings):
        bases = ", ".join(base.__name__ for base in value.__bases__)
        heading = f"class {name.rpartition('.')[2]}({bases})\n{_signature(name, value)}"
        yield class_entry(name, heading, docstrings, [member.name.rpartition(".")[2] for member in members])
    yield from members


def _member_entries(class_name: str, cls: type) -> Iterator[Entry]:
    for attribute, value in sorted(vars(cls).items()):
        if not is_public(attribute) or not isinstance(value, _MEMBER_TYPES):
            continue
        docstring = clean_docstring(value.__doc__)
        if docstring:
            function = getattr(value, "__func__", value)
            heading = _signature(attribute, function) if callable(function) else attribute
            yield function_entry(f"{class_name}.{attribute}", heading, docstring)


def _signature(name: str, value: Any) -> str:
    """Return the signature line of a callable; addresses of default objects, which change from run to run, are cut."""
    try:
        arguments = str(inspect.signature(value))
    except (ValueError, TypeError, AttributeError):
        arguments = "(...)"
    return name.rpartition(".")[2] + _ADDRESS.sub("", arguments)
