"""A program as text: where it comes from, its hash, and the static check that gives early, friendly errors."""

import ast
import hashlib
import threading
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from autoindex_haystack.errors import ProgramError

BUILTIN_NAMES = ("full_document", "passages")
"""The programs that come with the package; ``full_document`` is the baseline of every comparison."""

PROVIDED_MODULES = frozenset({"autoindex_haystack.program", "autoindex_haystack", "schema", "base", "sys", "pathlib"})
"""Modules that the worker provides itself: the contract, and harmless stand-ins for sys and pathlib."""

ALLOWED_MODULES = frozenset(
    "__future__ abc bisect collections collections.abc dataclasses difflib enum functools hashlib heapq html "
    "html.entities html.parser itertools json math operator random re statistics string textwrap typing unicodedata "
    "xml xml.etree xml.etree.ElementTree".split()
)
"""The text-processing part of the standard library that a program may import without further ado."""

_NO_CLASS = (
    "there is no class Preprocessor; add `from autoindex_haystack.program import BasePreprocessor, Chunk` and define "
    "class Preprocessor(BasePreprocessor)"
)

MAX_SOURCE_BYTES = 1_000_000

_PARSING = threading.Lock()


@dataclass(frozen=True)
class Problem:
    """A fault that the static check found.

    :param line: The line in the source, from 1; 0 when it concerns the whole file.
    :param message: What is wrong and what to do.
    """

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


@dataclass(frozen=True)
class Program:
    """A representation program as source text.

    :param source: The Python source.
    :param name: How messages call it: a file name or ``builtin:…``.
    """

    source: str
    name: str = "program.py"

    @cached_property
    def sha256(self) -> str:
        """The hash of the source, as hexadecimal digits."""
        return hashlib.sha256(self.source.encode("utf-8")).hexdigest()

    def check(self, allowed_imports: Iterable[str] = ()) -> None:
        """Check the program without running it.

        :param allowed_imports: Modules that may be imported beside :data:`ALLOWED_MODULES`.
        :raises ProgramError: With the first problem and the number of others.
        """
        problems = check_source(self.source, allowed_imports)
        if problems:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            msg = f"{self.name}, {problems[0]}{more}"
            raise ProgramError(msg)


def builtin_program(name: str) -> Program:
    """Returns one of the programs that come with the package.

    :param name: One of :data:`BUILTIN_NAMES`.
    :raises ProgramError: If there is no such program.
    """
    if name not in BUILTIN_NAMES:
        msg = f"no built-in program {name!r}; there are {', '.join(BUILTIN_NAMES)}"
        raise ProgramError(msg)
    source = files("autoindex_haystack.program").joinpath("builtin", f"{name}.py").read_text(encoding="utf-8")
    return Program(source, f"builtin:{name}")


def read_program(path: Path) -> Program:
    """Read a program file.

    :param path: The Python file.
    :returns: The program, not checked yet.
    :raises ProgramError: If the file cannot be read as UTF-8.
    """
    try:
        return Program(path.read_text(encoding="utf-8-sig"), path.name)
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path} cannot be read as a program ({error}); give a UTF-8 Python file"
        raise ProgramError(msg) from error


def check_source(source: str, allowed_imports: Iterable[str] = ()) -> list[Problem]:
    """Check a program's text: syntax, class, imports.

    This catches honest mistakes early; it is no protection. Hostile programs are the sandbox's concern.

    :param source: The Python source.
    :param allowed_imports: Modules that may be imported beside :data:`ALLOWED_MODULES`; a name admits its submodules.
    :returns: What is wrong, in the order of the lines; empty when nothing is.
    """
    if len(source.encode("utf-8", "surrogatepass")) > MAX_SOURCE_BYTES:
        return [Problem(0, f"the source is longer than {MAX_SOURCE_BYTES:,} bytes; learn tables in calibrate instead")]
    try:
        tree = parse(source)
    except SyntaxError as error:
        return [Problem(error.lineno or 0, f"syntax error: {error.msg}")]
    except (ValueError, RecursionError, MemoryError) as error:
        return [Problem(0, f"cannot be parsed: {error}")]
    extra = tuple(allowed_imports)
    problems = [_import_problem(line, module) for line, module in _imports(tree) if not _allowed(module, extra)]
    problems += _class_problems(tree)
    return sorted(problems, key=lambda problem: problem.line)


def missing_modules(names: Iterable[str]) -> list[str]:
    """Find the modules that this interpreter does not have; nothing is imported.

    :param names: Names of modules; of a submodule only its package is looked for.
    :returns: Those that cannot be imported, in their order.
    """
    return [name for name in names if not name.replace(".", "_").isidentifier() or not _has(name.partition(".")[0])]


def _has(package: str) -> bool:
    try:
        return bool(package) and find_spec(package) is not None
    except ValueError:  # A module of this process without a specification, such as __main__.
        return False


def parse(source: str) -> ast.Module:
    """Parse a source without passing the parser's warnings on: it is not this process that shall heed them.

    Sources are parsed one at a time: where several threads do so at once, Python 3.11 mixes up how deeply their trees
    are nested and may raise a SystemError (https://github.com/python/cpython/issues/106905). Everything parses here.
    """
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def _import_problem(line: int, module: str) -> Problem:
    if module.startswith("."):
        return Problem(line, "relative imports are not allowed; a program is one file")
    package = module.partition(".")[0]
    return Problem(line, f"import of {module!r} is not allowed; allow it with --allow-import {package}")


def _imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")


def _allowed(module: str, extra: tuple[str, ...]) -> bool:
    known = module in ALLOWED_MODULES or module in PROVIDED_MODULES
    return known or any(module == name or module.startswith(f"{name}.") for name in extra)


def _class_problems(tree: ast.Module) -> list[Problem]:
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Preprocessor"]
    if not classes:
        return [Problem(0, _NO_CLASS)]
    found = classes[-1]
    if not found.bases:
        return [Problem(found.lineno, "class Preprocessor must derive from BasePreprocessor")]
    inherits_contract_only = [_last_name(base) for base in found.bases] == ["BasePreprocessor"]
    if inherits_contract_only and "preprocess" not in _names_defined(found):
        return [Problem(found.lineno, "class Preprocessor has no method preprocess(self, docs)")]
    return []


def _last_name(base: ast.expr) -> str:
    """The name of a base class, without the modules before it; nothing for any other expression."""
    return base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""


def _names_defined(found: ast.ClassDef) -> set[str]:
    methods = {node.name for node in found.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assigned = (node.targets for node in found.body if isinstance(node, ast.Assign))
    return methods | {target.id for targets in assigned for target in targets if isinstance(target, ast.Name)}
