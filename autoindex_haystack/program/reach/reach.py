"""The part of a program that can have an effect on what ``calibrate`` returns.

From the methods ``calibrate`` and ``__init__``, and from everything that is executed when the program is loaded, names
lead to the functions, constants and methods that may be used: an identifier, an attribute and a string count, and what
merely has the same name counts too. Where a name could be made at run time (``getattr``, ``vars``, ``str.format``,
frames, dunder names and whatever is not listed in :mod:`known <autoindex_haystack.program.reach.known>`) nothing can be
told.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from autoindex_haystack.program.reach.known import (
    FORMATTING,
    FRAME_ATTRIBUTES,
    SAFE_MEMBERS,
    UNSAFE_BUILTINS,
)
from autoindex_haystack.program.reach.pure import Purity
from autoindex_haystack.program.source import ALLOWED_MODULES, PROVIDED_MODULES, parse

_CLASS, _BASE = "Preprocessor", "BasePreprocessor"
_ROOTS = frozenset({"calibrate", "__init__"})
_FINE_DUNDER = frozenset({"__init__", "__future__"})
_MODULES = ALLOWED_MODULES | PROVIDED_MODULES


class _Undecidable(Exception):
    """Nothing can be told of the program."""


def what_calibrate_reaches(source: str) -> str | None:
    """Returns what of a program its ``calibrate`` can depend on, in a canonical form.

    Two programs with the same form learn the same from the same documents in the same kind of worker, in which the same
    modules have been imported ahead.

    :param source: The program.
    :returns: The form; None where it cannot be told, or where the program has no ``calibrate`` of its own.
    """
    try:
        program = _Program.of(parse(source))
        kept = program.reached()
        _check(kept, program)
    except (_Undecidable, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return "\n".join(f"{unit.inside}{ast.dump(unit.statement)}" for unit in kept)


@dataclass(frozen=True)
class _Unit:
    """A statement that is kept or left out as a whole.

    :param statement: The statement; of an import that of one name.
    :param inside: The class that it is a part of; empty for the module.
    :param binds: The names that it may bind.
    """

    statement: ast.stmt
    inside: str = ""
    binds: frozenset[str] = field(default=frozenset())


@dataclass(frozen=True)
class _Program:
    """A program's statements.

    :param units: Those of the module and those of the class, in their order.
    :param binders: For each name the units that may bind it.
    :param roots: The units that are executed whatever is used.
    """

    units: list[_Unit]
    binders: dict[str, list[_Unit]]
    roots: list[_Unit]

    @classmethod
    def of(cls, tree: ast.Module) -> "_Program":
        """Take a program apart."""
        if not all(module in _MODULES for module in _imported(tree)):
            raise _Undecidable
        units = list(_units(tree))
        binders: dict[str, list[_Unit]] = {}
        for unit in units:
            for name in unit.binds:
                binders.setdefault(name, []).append(unit)
        if not any(unit.inside and unit.binds == {"calibrate"} for unit in units):
            raise _Undecidable
        return cls(units, binders, _roots(units, binders))

    def reached(self) -> list[_Unit]:
        """Returns the units that names lead to, in their order."""
        kept = {id(unit): unit for unit in self.roots}
        waiting = list(kept.values())
        while waiting:
            for name in _mentioned(waiting.pop().statement):
                for unit in self.binders.get(name, ()):
                    if id(unit) not in kept:
                        kept[id(unit)] = unit
                        waiting.append(unit)
        return [unit for unit in self.units if id(unit) in kept]


def _imported(tree: ast.Module) -> Iterator[str]:
    """All modules that are imported anywhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def _units(tree: ast.Module) -> Iterator[_Unit]:
    """Take a module apart; the class ``Preprocessor`` too, where nothing but its base has a say in its making."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == _CLASS]
    for statement in tree.body:
        if not (isinstance(statement, ast.ClassDef) and statement.name == _CLASS):
            yield from _split(statement)
            continue
        match statement:
            case ast.ClassDef(bases=[ast.Name(id=base)], keywords=[], decorator_list=[]) if (
                base == _BASE and len(classes) == 1
            ):
                shell = ast.ClassDef(_CLASS, statement.bases, [], [ast.Pass()], [])
                yield _Unit(shell, binds=frozenset({_CLASS}))
                for inner in statement.body:
                    yield from _split(inner, _CLASS)
            case _:
                raise _Undecidable


def _split(statement: ast.stmt, inside: str = "") -> Iterator[_Unit]:
    """Make units of a statement, of an import one for each name."""
    match statement:
        case ast.Import(names=names):
            parts: list[ast.stmt] = [ast.Import([alias]) for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            parts = [ast.ImportFrom(module, [alias], level) for alias in names]
        case _:
            parts = [statement]
    for part in parts:
        _strip_docstrings(part)
        yield _Unit(part, inside, frozenset(_bound(part)))


def _strip_docstrings(statement: ast.stmt) -> None:
    """Leave out the docstrings of functions, which nothing can read without a dunder name."""
    for node in ast.walk(statement):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and ast.get_docstring(node, clean=False) is not None
        ):
            node.body = node.body[1:] or [ast.Pass()]


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module or class may bind there, and some more."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        yield statement.name
        for node in ast.walk(statement):
            if isinstance(node, ast.Global):
                yield from node.names
        return
    nodes = list(ast.walk(statement))
    variables = {id(n) for node in nodes if isinstance(node, ast.comprehension) for n in ast.walk(node.target)}
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if id(node) not in variables:
                yield name
            case ast.alias(name=name, asname=asname):
                yield asname or name.partition(".")[0]
            case ast.Global(names=names):
                yield from names
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name


def _roots(units: list[_Unit], binders: dict[str, list[_Unit]]) -> list[_Unit]:
    """What counts whatever is named: what does more than to bind, the class, and the methods called from outside."""
    statements = {name: [unit.statement for unit in several] for name, several in binders.items()}
    calm: list[_Unit] = []
    # Names may be read as long as nothing is executed that could change their values.
    for reads_names in (True, False):
        purity = Purity(statements, _MODULES, reads_names=reads_names)
        calm = [unit for unit in units if _is_shell(unit) or purity.binds_only(unit.statement)]
        if len(calm) == len(units):
            break
    binding = {id(unit) for unit in calm}
    return [
        unit
        for unit in units
        if id(unit) not in binding
        or _is_shell(unit)
        or (unit.inside and unit.binds & _ROOTS)
        or any(name.startswith("__") for name in unit.binds)
    ]


def _is_shell(unit: _Unit) -> bool:
    return isinstance(unit.statement, ast.ClassDef) and unit.statement.name == _CLASS and not unit.inside


def _mentioned(statement: ast.stmt, *, strings: bool = True) -> Iterator[str]:
    """Whatever may be a name: every identifier, attributes included, and with ``strings`` every string."""
    for node in ast.walk(statement):
        if strings or not isinstance(node, ast.Constant):
            for _, value in ast.iter_fields(node):
                values = value if isinstance(value, list) else [value]
                yield from (item for item in values if isinstance(item, str))


def _check(kept: Iterable[_Unit], program: _Program) -> None:
    """See that what was reached finds nothing else by a name made at run time.

    :raises _Undecidable: If it may.
    """
    statements = [unit.statement for unit in kept]
    stored = {
        node.attr
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    own = program.binders.keys() | stored
    modules = _modules(program.units)
    for statement in statements:
        for name in _mentioned(statement, strings=False):
            dunder = name.startswith("__") and name not in _FINE_DUNDER
            if dunder or name in FRAME_ATTRIBUTES or name in FORMATTING:
                raise _Undecidable
        _check_modules(statement, modules)
        for node in ast.walk(statement):
            match node:
                case ast.Name(id=name) if name in UNSAFE_BUILTINS:
                    raise _Undecidable
                case ast.Attribute(attr=name) if name.startswith("_") and name != "__init__" and name not in own:
                    raise _Undecidable
                case ast.ImportFrom(module=module, names=names):
                    if not all(alias.name in SAFE_MEMBERS.get(module or "", ()) for alias in names):
                        raise _Undecidable
                case ast.Import(names=names):
                    if not all(alias.name in SAFE_MEMBERS for alias in names):
                        raise _Undecidable


def _modules(units: Iterable[_Unit]) -> dict[str, str]:
    """The names that stand for modules, anywhere in a program, and the modules.

    :raises _Undecidable: If one stands for several.
    """
    found: dict[str, str] = {}
    for unit in units:
        for node in ast.walk(unit.statement):
            for alias in node.names if isinstance(node, ast.Import) else ():
                top = alias.name.partition(".")[0]
                name, module = (alias.asname, alias.name) if alias.asname else (top, top)
                if found.setdefault(name, module) != module:
                    raise _Undecidable
    return found


def _check_modules(statement: ast.stmt, modules: dict[str, str]) -> None:
    """See that modules are used for their listed members alone.

    :raises _Undecidable: If not.
    """
    fine: set[int] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            path, inner = [node.attr], node.value
            while isinstance(inner, ast.Attribute):
                path.append(inner.attr)
                inner = inner.value
            if isinstance(inner, ast.Name) and inner.id in modules:
                *rest, member = [modules[inner.id], *reversed(path)]
                if member in SAFE_MEMBERS.get(".".join(rest), ()):
                    fine.add(id(inner))
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and node.id in modules and id(node) not in fine:
            raise _Undecidable
