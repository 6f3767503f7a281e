"""What the source of one Python module says about itself: definitions, imports and `__all__`, without running it."""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Definition = FunctionNode | ast.ClassDef
_Node = TypeVar("_Node", FunctionNode, Definition)


@dataclass
class ModuleSyntax:
    """The names of one module.

    :param package: The package that relative imports start from.
    :param docstring: The docstring, cleaned by `ast`; empty if there is none.
    :param definitions: Top-level classes and functions by name; the first one with a docstring counts.
    :param imports: Local name → (module, name in it) of every `from … import …`.
    :param aliases: Local name → another local name of the same object.
    :param stars: The modules of every `from … import *`.
    :param declared: What is written out in `__all__`: names, and `submodule.__all__` for all names of a submodule;
        `None` if there is nothing to read.
    """

    package: str
    docstring: str
    definitions: dict[str, Definition] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    declared: list[str] | None = None


def read_module(name: str, path: Path) -> ModuleSyntax:
    """Parse a module.

    :param name: Its dotted name.
    :param path: Its source file.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes and the like are not ours to report
        tree = ast.parse(path.read_bytes())
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    module = ModuleSyntax(package, ast.get_docstring(tree) or "")
    for statement in _statements(tree.body):
        if isinstance(statement, Definition):
            _keep(module.definitions, statement)
        elif isinstance(statement, ast.ImportFrom):
            _read_import(module, statement)
        else:
            _read_declaration(module, statement)
    return module


def methods(definition: ast.ClassDef) -> dict[str, FunctionNode]:
    """Return the methods and properties in the body of a class by name; the first one with a docstring counts.

    :param definition: The class.
    """
    found: dict[str, FunctionNode] = {}
    for statement in _statements(definition.body):
        if isinstance(statement, FunctionNode):
            _keep(found, statement)
    return found


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a body, with those inside `if` and `try`."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _statements(statement.body + statement.orelse)
        elif isinstance(statement, ast.Try):
            yield from _statements(statement.body)
            for handler in statement.handlers:
                yield from _statements(handler.body)
            yield from _statements(statement.orelse)
        else:
            if isinstance(statement, FunctionNode):
                del statement.body[1:]  # code that is never read again: millions of nodes for the garbage collector
            yield statement


def _keep(definitions: dict[str, _Node], node: _Node) -> None:
    known = definitions.get(node.name)
    if known is None or (not ast.get_docstring(known) and ast.get_docstring(node)):
        definitions[node.name] = node


def _read_import(module: ModuleSyntax, statement: ast.ImportFrom) -> None:
    source = statement.module or ""
    if statement.level:
        parents = module.package.split(".")
        parents = parents[: len(parents) - statement.level + 1]
        source = ".".join([*parents, source] if source else parents)
    for alias in statement.names:
        if alias.name == "*":
            module.stars.append(source)
        else:
            module.imports[alias.asname or alias.name] = (source, alias.name)


def _read_declaration(module: ModuleSyntax, statement: ast.stmt) -> None:
    """Read `alias = name`, `__all__ = …`, `__all__ += …`, `__all__.append(…)` and `__all__.extend(…)`."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=alias)], value=ast.Name(id=name)) if alias != name:
            module.aliases[alias] = name
        case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
            module.declared = _names(value) or None
        case (
            ast.AugAssign(target=ast.Name(id="__all__"), value=value)
            | ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="__all__")), args=[value]))
        ):
            module.declared = (module.declared or []) + _names(value) or None


def _names(value: ast.expr) -> list[str]:
    match value:
        case ast.Constant(value=str() as name):
            return [name]
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [name for element in elements for name in _names(element)]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _names(left) + _names(right)
        case ast.Attribute(attr="__all__"):
            return [ast.unparse(value)]
        case _:
            return []  # computed at run time
