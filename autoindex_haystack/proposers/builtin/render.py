"""From a recipe to a program that a person would sign: self-contained, with only the functions it uses."""

import ast
import inspect
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from types import ModuleType
from typing import Any

from autoindex_haystack.program.source import parse
from autoindex_haystack.proposers.builtin.embedding import FUTURE, NAME, embed
from autoindex_haystack.proposers.builtin.library import PREPARED, TRANSFORMS, Transform
from autoindex_haystack.proposers.builtin.recipe import CONSTANT, Recipe, literal
from autoindex_haystack.proposers.builtin.transforms import irregular, words
from autoindex_haystack.retrieval import porter

_INDENT = "    "
_OPENING = "Represent each document for BM25:"

_SHARED = (words, irregular, porter)
"""Modules whose functions any transform may use."""


@lru_cache(maxsize=1024)
def render(recipe: Recipe) -> str:
    """Write the program of a recipe.

    :param recipe: The recipe.
    :returns: Python source that passes the static check.
    """
    if recipe.base and not recipe.steps:
        return recipe.base
    transforms = [(TRANSFORMS[step.transform], step.values) for step in recipe.steps]
    steps = [(transform, transform.complete(values)) for transform, values in transforms]
    preprocessor = _preprocessor(steps, embeds=bool(recipe.base))
    functions, imports = _needed(preprocessor, [module for transform, _ in steps for module in transform.modules])
    ideas = [f"{i}. {transform.idea(values)}" for i, (transform, values) in enumerate(steps, start=1)]
    opening = f"Represent each document for BM25, after what {NAME} makes of it:" if recipe.base else _OPENING
    docstring = "\n".join([opening, "", *ideas]) if ideas else "Index each document whole."
    standard = "\n".join(sorted(imports, key=lambda line: (line.startswith("from"), line)))
    head = [
        f'"""{docstring}\n"""' if ideas else f'"""{docstring}"""',
        *([FUTURE] if FUTURE in recipe.base.split("\n") else []),
        f"{standard}\n\nfrom autoindex_haystack.program import BasePreprocessor, Chunk, Document",
        _constant(recipe),
    ]
    parts = [*([embed(recipe.base)] if recipe.base else []), *functions, preprocessor]
    return "\n\n".join(part.strip("\n") for part in head) + "\n\n\n" + "\n\n\n".join(parts) + "\n"


_EMBEDDING = [
    "def __init__(self) -> None:",
    f"{_INDENT}super().__init__()",
    f"{_INDENT}self.{NAME} = {NAME}()",
]

_PIECES = [
    f'self.{NAME}.state = self.state.get("{NAME}", {{}})',
    f"pieces = [chunk.text for chunk in self.{NAME}.preprocess([doc])] or [text]",
]


def _constant(recipe: Recipe) -> str:
    if not recipe.steps:
        return f"{CONSTANT} = []"
    rows = [f"{_INDENT}{literal((step.transform, step.values))}," for step in recipe.steps]
    return "\n".join([f"{CONSTANT} = [", *rows, "]"])


def _preprocessor(steps: list[tuple[Transform, dict[str, Any]]], *, embeds: bool) -> str:
    """Write the class; with another program's pieces to begin with where it embeds one."""
    prepare = [line for transform, values in steps for line in transform.prepare(values)]
    represent = [line for transform, values in steps for line in transform.represent(values)]
    learn: dict[str, str] = {}
    seen = PREPARED
    for transform, values in steps:
        learn |= {key: text.replace(PREPARED, seen) for key, text in transform.learn(values).items()}
        seen = transform.shows(values, seen)
    head = ["class Preprocessor(BasePreprocessor):", f'{_INDENT}name = "composed"']
    parts = ["\n".join(head)]
    if embeds:
        parts.append(_indented(_EMBEDDING))
        learn = {NAME: f"self.{NAME}.calibrate(docs)"} | learn
    if learn:
        parts.append(_calibrate(learn))
    parts += [_prepare(prepare), _preprocess(represent, _PIECES if embeds else ["pieces = [text]"])]
    return "\n\n".join(parts)


def _calibrate(learn: dict[str, str]) -> str:
    lines = ["def calibrate(self, docs: Iterable[Document]) -> dict:"]
    if len(learn) > 1:
        lines.append(f"{_INDENT}docs = list(docs)")
    for key, expression in learn.items():
        lines.append(f'{_INDENT}self.state["{key}"] = {expression}')
    return _indented([*lines, f"{_INDENT}return self.state"])


def _prepare(lines: list[str]) -> str:
    body = [
        "def prepare(self, doc: Document) -> tuple[str, str]:",
        f'{_INDENT}"""Title and text of a document, the text beginning with the title where the document has one."""',
        f'{_INDENT}given = title = str(doc.metadata.get("title") or "")',
        f"{_INDENT}text = doc.text",
    ]
    body += [f"{_INDENT}{line}" for line in lines]
    if lines:
        body.append(f"{_INDENT}text = text_or_all(text, doc.text)")
    body.append(f'{_INDENT}return title, f"{{given}}\\n{{text}}" if given else text')
    return _indented(body)


def _preprocess(lines: list[str], pieces: Sequence[str]) -> str:
    body = [
        "def preprocess(self, docs: list[Document]) -> list[Chunk]:",
        f"{_INDENT}chunks = []",
        f"{_INDENT}for doc in docs:",
        f"{_INDENT * 2}title, text = self.prepare(doc)",
        *(f"{_INDENT * 2}{line}" for line in pieces),
        *(f"{_INDENT * 2}{line}" for line in lines),
        f'{_INDENT * 2}chunks += [Chunk(f"{{doc.doc_id}}_{{n}}", doc.doc_id, piece) for n, piece in enumerate(pieces)]',
        f"{_INDENT}return chunks",
    ]
    return _indented(body)


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(_INDENT + line for line in lines)


def _needed(code: str, modules: list[ModuleType]) -> tuple[list[str], set[str]]:
    """Find the functions and constants that code uses, with all that those use.

    :returns: Their sources, in the order of their modules, and the imports they need.
    """
    known = [*_SHARED, *dict.fromkeys(modules)]
    definitions = {name: source for module in known for name, source in _definitions(module).items()}
    imports = {name: line for module in known for name, line in _imports(module).items()}
    own = _names(code)
    wanted, pending = set[str](), set(own)
    while pending:
        name = pending.pop()
        if name in definitions and name not in wanted:
            wanted.add(name)
            pending |= _names(definitions[name])
    sources = {name: definitions[name] for name in definitions if name in wanted}
    used = own.union(*map(_names, sources.values()))
    grouped = _group_constants(sources)
    return grouped, _merge({line for name, line in imports.items() if name in used})


def _group_constants(sources: dict[str, str]) -> list[str]:
    """Put consecutive constants under one another, functions apart."""
    groups: list[str] = []
    previous = False
    for source in sources.values():
        constant = not source.startswith("def ")
        if constant and previous:
            groups[-1] += "\n" + source
        else:
            groups.append(source)
        previous = constant
    return groups


@cache
def _definitions(module: ModuleType) -> dict[str, str]:
    """The sources of a module's functions and constants, by name."""
    text = inspect.getsource(module)
    lines = text.split("\n")
    found = {}
    for node in parse(text).body:
        # As ``ast.get_source_segment`` has it, which would split the text anew for each.
        *whole, last = lines[node.lineno - 1 : node.end_lineno]
        source = "\n".join([*whole, last.encode("utf-8")[: node.end_col_offset].decode("utf-8")])
        if isinstance(node, ast.FunctionDef):
            found[node.name] = source
        elif isinstance(node, ast.Assign):
            found[ast.unparse(node.targets[0])] = source
    return found


@cache
def _imports(module: ModuleType) -> dict[str, str]:
    """A module's imports from the standard library, by the name they bind."""
    found: dict[str, str] = {}
    for node in parse(inspect.getsource(module)).body:
        if isinstance(node, ast.Import):
            found |= {alias.name: f"import {alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("autoindex_haystack"):
            found |= {alias.name: f"from {node.module} import {alias.name}" for alias in node.names}
    return found


@lru_cache(maxsize=2048)
def _names(code: str) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(parse(_dedented(code))) if isinstance(node, ast.Name))


def _dedented(code: str) -> str:
    return inspect.cleandoc(code) if code.startswith(_INDENT) else code


def _merge(lines: set[str]) -> set[str]:
    """Join imports from the same module into one line."""
    names: dict[str, list[str]] = {}
    for line in lines:
        module, _, imported = line.partition(" import ")
        names.setdefault(module, []).append(imported)
    return {
        f"{module} import {', '.join(sorted(imported))}" if imported[0] else module
        for module, imported in names.items()
    }
