"""Running the library's own programs in this process; what anyone else wrote never does."""

import re
from typing import Any

from autoindex_haystack.program import BasePreprocessor
from autoindex_haystack.proposers.builtin.library import TRANSFORMS
from autoindex_haystack.proposers.builtin.recipe import Recipe
from autoindex_haystack.proposers.builtin.render import render

_LARGEST = 1_000
"""Numbers in a recipe beyond this are not ours."""

_PLAIN = re.compile(r"[^()\[\]{}'\"\\\n=;]*")


def load_trusted(recipe: Recipe) -> BasePreprocessor:
    """Make the object of a recipe's program, in this process.

    :param recipe: A recipe of the library's transforms.
    :returns: The object.
    :raises ValueError: If a value of the recipe is not of the kind that the library's own moves have.
    """
    if not is_plain(recipe):
        msg = "the recipe holds values that are not the library's own"
        raise ValueError(msg)
    namespace: dict[str, Any] = {"__name__": "recipe"}
    exec(compile(render(recipe), "<recipe>", "exec"), namespace)  # Our own functions with plain values.
    made = namespace["Preprocessor"]()
    assert isinstance(made, BasePreprocessor)
    return made


def is_plain(recipe: Recipe) -> bool:
    """Whether a recipe holds only known transforms with small numbers and plain names, and nobody else's program."""
    return not recipe.base and all(step.transform in TRANSFORMS and _plain(step.values) for step in recipe.steps)


def _plain(value: Any) -> bool:
    match value:
        case dict():
            return all(_plain(key) and _plain(item) for key, item in value.items())
        case list():
            return all(_plain(item) for item in value)
        case str():
            return _PLAIN.fullmatch(value) is not None
        case bool() | None:
            return True
        case int() | float():
            return 0 <= value <= _LARGEST
        case _:
            return False
