"""A recipe: the transforms that a program is made of, with their parameters. The program carries it as a literal."""

import ast
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from autoindex_haystack.program.source import parse

CONSTANT = "RECIPE"
"""The name under which a program carries its recipe."""


def literal(value: Any) -> str:
    """Write a value as a Python literal, with double quotes where that saves escapes, as formatters do.

    :param value: Strings, numbers, None, and dictionaries, lists and tuples of these.
    :returns: The literal.
    """
    if isinstance(value, str):
        quoted = repr(value)
        return f'"{quoted[1:-1]}"' if quoted[0] == "'" and '"' not in value else quoted
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(literal, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)


@dataclass(frozen=True)
class Step:
    """One transform with its parameters.

    :param transform: The transform's name in the library.
    :param parameters: The parameters as canonical JSON, so that steps compare and hash by value.
    """

    transform: str
    parameters: str = "{}"

    @classmethod
    def of(cls, transform: str, **parameters: Any) -> "Step":
        """Make a step.

        :param transform: The transform's name.
        :param parameters: Its parameters.
        :returns: The step.
        """
        return cls(transform, json.dumps(parameters, sort_keys=True))

    @property
    def values(self) -> dict[str, Any]:
        """The parameters."""
        loaded: dict[str, Any] = json.loads(self.parameters)
        return loaded

    def having(self, **changes: Any) -> "Step":
        """Returns the step with some parameters changed."""
        return Step.of(self.transform, **{**self.values, **changes})


@dataclass(frozen=True)
class Recipe:
    """An ordered composition of steps, at most one of each transform.

    :param steps: The steps.
    :param base: Source of a program that somebody else wrote, to whose chunks the steps are applied; empty when they
        are applied to the documents as they are.
    """

    steps: tuple[Step, ...] = ()
    base: str = field(default="", repr=False)

    @classmethod
    def of(cls, steps: Iterable[Step], order: Mapping[str, int], base: str = "") -> "Recipe":
        """Put steps into the order of their stages; a later step of the same transform replaces the earlier one.

        :param steps: The steps.
        :param order: Each transform's place.
        :param base: Source of the program that they are added to.
        :returns: The recipe.
        """
        latest = {step.transform: step for step in steps}
        return cls(tuple(sorted(latest.values(), key=lambda step: order[step.transform])), base)

    def get(self, transform: str) -> Step | None:
        """Returns the step of a transform, if the recipe has one."""
        return next((step for step in self.steps if step.transform == transform), None)

    def literal(self) -> str:
        """Returns the recipe as the Python literal that a program carries."""
        return literal([(step.transform, step.values) for step in self.steps])


def carried_recipe(source: str) -> Recipe | None:
    """Read the recipe that a program carries, whether or not it does what that says.

    :param source: The program's source.
    :returns: The recipe, without a base; None for a program that carries none.
    """
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [CONSTANT]:
            try:
                steps = tuple(Step.of(name, **values) for name, values in ast.literal_eval(node.value))
            except (ValueError, TypeError, RecursionError, MemoryError):
                return None
            return Recipe(steps) if all(isinstance(step.transform, str) for step in steps) else None
    return None
