"""From a program back to its recipe."""

from dataclasses import replace
from functools import lru_cache

from autoindex_haystack.proposers.builtin.embedding import embedded
from autoindex_haystack.proposers.builtin.library import TRANSFORMS
from autoindex_haystack.proposers.builtin.recipe import Recipe, carried_recipe
from autoindex_haystack.proposers.builtin.render import render


@lru_cache(maxsize=4096)
def read_recipe(source: str) -> Recipe:
    """Read the recipe of a program.

    A program that carries a recipe but is not what this makes, such as one that a model has edited, is somebody else's.

    :param source: The program's source.
    :returns: The recipe: steps, on another program when they were added to one; for a program of somebody else's
        no steps on it.
    """
    found = carried_recipe(source)
    if found is not None and all(step.transform in TRANSFORMS for step in found.steps):
        whole = replace(found, base=embedded(source) or "")
        try:
            if render(whole) == source:
                return whole
        except (ArithmeticError, LookupError, SyntaxError, TypeError, ValueError):
            pass  # Parameters that nobody here has written.
    return Recipe(base=source)
