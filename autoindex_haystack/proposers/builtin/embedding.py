"""A program that somebody else wrote, as a function within one of ours, and how to find it there again.

In a function its names do not meet ours. Its lines stay what they are, indented.
"""

import ast

from autoindex_haystack.program.source import parse

NAME = "incumbent"
"""The function that makes the other program's ``Preprocessor``."""

_INDENT = "    "
_HEAD = f"def {NAME}() -> BasePreprocessor:"
_END = f"{_INDENT}return Preprocessor()"
FUTURE = "from __future__ import annotations"
"""Must stand at the head of a file, so it is moved there."""


def embed(source: str) -> str:
    """Make a function of a program.

    :param source: The program's source.
    :returns: The function's source.
    :raises SyntaxError: If the program cannot be parsed.
    """
    fixed = _within_strings(parse(source))
    lines = source.rstrip("\n").split("\n")
    body = [
        text if number in fixed or not text.strip() else _INDENT + text.replace(FUTURE, f"# {FUTURE}")
        for number, text in enumerate(lines, start=1)
    ]
    return "\n".join([_HEAD, *body, "", _END])


def embedded(source: str) -> str | None:
    """Find the program within one of ours.

    :param source: The source of the program that has it as a function.
    :returns: Its source; None when there is none.
    """
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == NAME:
            fixed = _within_strings(node)
            lines = enumerate(source.split("\n")[node.lineno : (node.end_lineno or 0) - 1], start=node.lineno + 1)
            body = [text if n in fixed else text.removeprefix(_INDENT) for n, text in lines]
            return "\n".join(text.replace(f"# {FUTURE}", FUTURE) for text in body).rstrip("\n") + "\n"
    return None


def _within_strings(tree: ast.AST) -> set[int]:
    """The lines that begin within a string: to indent them would change it."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno is not None
        for line in range(node.lineno + 1, node.end_lineno + 1)
    }
