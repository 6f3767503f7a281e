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
    last_part,
    module_entry,
)

IMPORTED_MODULES = tuple(
    """
    array atexit binascii bisect builtins bz2 calendar cmath collections collections.abc contextvars csv ctypes datetime
    decimal faulthandler fcntl functools gc grp hashlib heapq hmac io itertools locale lzma marshal math mmap
    multiprocessing operator os os.path pickle pwd queue random re resource secrets select signal socket sqlite3 ssl
    stat struct sys syslog termios threading time tracemalloc types typing unicodedata weakref
    xml.parsers.expat zlib zoneinfo
    """.split()
)
"""Modules that are read by importing them; one that an interpreter was built without is left out."""

# Types whose methods everybody calls, but whose own name is private: the page of a method stands under the public name
# that makes the object.
_HIDDEN_TYPES = {
    "csv.reader": "_csv.Reader",
    "csv.writer": "_csv.Writer",
    "hashlib.sha256": "_hashlib.HASH",
    "io.BufferedIOBase": "_io._BufferedIOBase",
    "io.IOBase": "_io._IOBase",
    "io.RawIOBase": "_io._RawIOBase",
    "io.TextIOBase": "_io._TextIOBase",
    "random.Random": "_random.Random",
    "socket.socket": "_socket.socket",
    "ssl.SSLContext": "_ssl._SSLContext",
    "threading.Lock": "_thread.LockType",
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


def _module_entries(name: str, module: types.ModuleType, modules: dict[str, types.ModuleType]) -> Iterator[Entry]:
    prefix = "" if name == "builtins" else f"{name}."
    classes: list[str] = []
    functions: list[str] = []
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
    homes = {name, f"_{name}", ""} | _HOMES.get(name, set())
    for attribute in sorted(set(declared if declared is not None else dir(module))):
        # Applications and test tools replace hooks; `sys.__excepthook__` and the like keep the original.
        original = vars(module).get(f"__{attribute}__") if attribute.endswith("hook") else None
        value = original or getattr(module, attribute, None)
        if not is_public(attribute) or not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        belongs = declared is not None or name == "builtins" or _home(value) in homes
        if belongs and not _is_alias(name, attribute, value, modules):
            yield attribute, value


def _is_alias(name: str, attribute: str, value: Any, modules: dict[str, types.ModuleType]) -> bool:
    """Tell whether an object has its page elsewhere: in `builtins`, or where it is defined under its own name."""
    own_name = value.__qualname__
    if f"{_home(value)}.{own_name}" in _HIDDEN_TYPES.values():
        return True
    places = {"builtins"} if name == "builtins" else {"builtins", _home(value)}
    return any(
        (name, attribute) != (place, own_name) and getattr(modules.get(place), own_name, None) is value
        for place in places
    )


def _home(value: Any) -> str:
    return getattr(value, "__module__", None) or ""


def _value_entries(name: str, value: Any) -> Iterator[Entry]:
    if not inspect.isclass(value):
        docstring = clean_docstring(value.__doc__)
        if docstring:
            yield function_entry(name, _signature(name, value), docstring)
        return
    members = list(_member_entries(name, value))
    constructor = vars(value).get("__init__")
    docstrings = [clean_docstring(value.__doc__)]
    if isinstance(constructor, types.FunctionType):
        docstrings.append(clean_docstring(constructor.__doc__))
    if any(docstrings):
        bases = ", ".join(base.__name__ for base in value.__bases__)
        heading = f"class {last_part(name)}({bases})\n{_signature(name, value)}"
        yield class_entry(name, heading, docstrings, [last_part(member.name) for member in members])
    yield from members


def _member_entries(class_name: str, cls: type) -> Iterator[Entry]:
    for attribute, value in sorted(vars(cls).items()):
        if not is_public(attribute) or not isinstance(value, _MEMBER_TYPES):
            continue
        function = getattr(value, "__func__", value)
        docstring = clean_docstring(function.__doc__)
        if docstring:
            heading = _signature(attribute, function) if callable(function) else attribute
            yield function_entry(f"{class_name}.{attribute}", heading, docstring)


def _signature(name: str, value: Any) -> str:
    """Return the signature line of a callable; addresses of default objects, which change from run to run, are cut."""
    try:
        arguments = str(inspect.signature(value))
    except (ValueError, TypeError, AttributeError):
        arguments = "(...)"
    return last_part(name) + _ADDRESS.sub("", arguments)
