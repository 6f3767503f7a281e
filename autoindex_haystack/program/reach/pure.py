"""Statements of a module or class that do nothing but bind a name: they matter only where the name is used."""

import ast
from collections.abc import Mapping, Sequence

from autoindex_haystack.program.reach.known import (
    CONSUMED,
    PURE_CALLS,
    PURE_DECORATORS,
    PURE_FUNCTIONS,
    PURE_METHODS,
    PURE_VALUES,
)

_ANNOTATIONS = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Tuple,
    ast.List,
    ast.Constant,
    ast.BinOp,
    ast.BitOr,
    ast.Load,
)

_OF_PARTS = (
    ast.BinOp,
    ast.BoolOp,
    ast.Compare,
    ast.Dict,
    ast.FormattedValue,
    ast.IfExp,
    ast.JoinedStr,
    ast.List,
    ast.Set,
    ast.Slice,
    ast.Subscript,
    ast.Tuple,
    ast.UnaryOp,
)
"""Expressions that are pure if their parts are."""

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
NOTHING: frozenset[str] = frozenset()


class Purity:
    """Tells which statements only bind names to functions, to plain values, or to what they import.

    An expression may read another name of the program only while nothing but such statements is executed when the
    program is loaded: else its value may have become an iterator, say, which reading would use up.

    :param binders: For each name that a module and its classes bind the statements that do.
    :param modules: Modules that may be imported without any effect.
    :param reads_names: Whether expressions may read names of the program.
    """

    def __init__(
        self, binders: Mapping[str, Sequence[ast.stmt]], modules: frozenset[str], *, reads_names: bool
    ) -> None:
        self._binders = binders
        self._modules = modules
        self._reads_names = reads_names
        self._known: dict[int, bool] = {}

    def binds_only(self, statement: ast.stmt) -> bool:
        """Whether a statement does nothing but bind names.

        :param statement: A statement of a module or of a class.
        """
        key = id(statement)
        if key not in self._known:
            self._known[key] = False  # For a value that is made of itself.
            self._known[key] = self._binds_only(statement)
        return self._known[key]

    def _binds_only(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return True
            case ast.Import(names=names):
                return all(alias.name in self._modules for alias in names)
            case ast.ImportFrom(module=module, names=names, level=0):
                return module in self._modules and module != "__future__" and names[0].name != "*"
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return self._is_function(statement)
            case ast.Assign(targets=targets, value=value):
                return all(isinstance(target, ast.Name) for target in targets) and self._is_pure(value)
            case ast.AnnAssign(target=ast.Name(), annotation=annotation, value=value):
                return self._is_annotation(annotation) and (value is None or self._is_pure(value))
        return False

    def _is_function(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        given = function.args
        arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        annotations = [argument.annotation for argument in arguments if argument]
        return (
            all(self._is_annotation(annotation) for annotation in (*annotations, function.returns) if annotation)
            and all(self._is_pure(value) for value in (*given.defaults, *given.kw_defaults) if value)
            and all(
                isinstance(decorator, ast.Name)
                and decorator.id in PURE_DECORATORS
                and decorator.id not in self._binders
                for decorator in function.decorator_list
            )
        )

    def _is_annotation(self, value: ast.expr) -> bool:
        """Whether evaluating an annotation has no effect: no attributes but those of modules."""
        return all(
            isinstance(node, _ANNOTATIONS) and (not isinstance(node, ast.Attribute) or self._is_member(node, None))
            for node in ast.walk(value)
        )

    def _is_pure(self, value: ast.expr, local: frozenset[str] = NOTHING) -> bool:
        """Whether an expression makes a plain value and does nothing else; ``local`` are variables that have one."""
        match value:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                return name in local or self._is_plain(name)
            case ast.Attribute():
                return self._is_member(value, PURE_VALUES)
            case ast.Call():
                return self._is_pure_call(value, local)
            case ast.ListComp() | ast.SetComp() | ast.DictComp():
                return self._is_pure_comprehension(value, local)
            case _ if isinstance(value, _OF_PARTS):
                parts = [part for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr)]
                return all(self._is_pure(part, local) for part in parts)
        return False

    def _is_plain(self, name: str) -> bool:
        """Whether a name of the program always has a plain value."""
        kinds = (ast.Assign, ast.AnnAssign)
        binders = self._binders.get(name, ())
        return (
            self._reads_names
            and bool(binders)
            and all(isinstance(binder, kinds) and self.binds_only(binder) for binder in binders)
        )

    def _is_pure_call(self, call: ast.Call, local: frozenset[str]) -> bool:
        match call.func:
            case ast.Name(id=name):
                known = name in PURE_CALLS and name not in self._binders and name not in local
            case ast.Attribute(value=ast.Name(id="str" | "dict" as name), attr=attribute):
                known = attribute in PURE_METHODS and name not in self._binders and name not in local
            case ast.Attribute(value=base, attr=attribute) if attribute in PURE_METHODS and self._is_pure(base, local):
                known = True
            case ast.Attribute():
                known = self._is_member(call.func, PURE_FUNCTIONS)
            case _:
                known = False
        if not known:
            return False
        if len(call.args) == 1 and not call.keywords and self._is_iterator(call.args[0], local):
            return True
        named = [keyword.value for keyword in call.keywords if not self._is_plain_key(keyword, local)]
        return all(self._is_pure(part, local) for part in (*call.args, *named))

    def _is_plain_key(self, keyword: ast.keyword, local: frozenset[str]) -> bool:
        """Whether a keyword is the key of an order by one of the builtins that only make plain values."""
        match keyword:
            case ast.keyword(arg="key", value=ast.Name(id=name)):
                return name in PURE_CALLS and name not in self._binders and name not in local
        return False

    def _is_iterator(self, value: ast.expr, local: frozenset[str]) -> bool:
        """Whether an expression makes an iterator over plain values, which nobody else has."""
        match value:
            case ast.GeneratorExp():
                return self._is_pure_comprehension(value, local)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                known = name in CONSUMED and name not in self._binders and name not in local
                parts = [*arguments, *(keyword.value for keyword in keywords)]
                return known and all(self._is_pure(part, local) for part in parts)
        return False

    def _is_pure_comprehension(self, value: Comprehension, local: frozenset[str]) -> bool:
        for part in value.generators:
            if part.is_async or not (self._is_pure(part.iter, local) or self._is_iterator(part.iter, local)):
                return False
            targets = [node for node in ast.walk(part.target) if isinstance(node, ast.expr)]
            if not all(isinstance(node, ast.Name | ast.Tuple | ast.List) for node in targets):
                return False
            local |= {node.id for node in targets if isinstance(node, ast.Name)}
            if not all(self._is_pure(condition, local) for condition in part.ifs):
                return False
        made = (value.key, value.value) if isinstance(value, ast.DictComp) else (value.elt,)
        return all(self._is_pure(part, local) for part in made)

    def _is_member(self, value: ast.Attribute, members: Mapping[str, frozenset[str]] | None) -> bool:
        """Whether an expression is a member of a module, one of those listed, which the program calls by its name."""
        if not isinstance(value.value, ast.Name):
            return False
        name = value.value.id
        binders = self._binders.get(name, ())
        named = [alias for binder in binders if isinstance(binder, ast.Import) for alias in binder.names]
        return (
            0 < len(binders) == len(named)
            and all(
                alias.name == name and alias.asname is None and self.binds_only(b)
                for alias, b in zip(named, binders, strict=True)
            )
            and (members is None or value.attr in members.get(name, ()))
        )
