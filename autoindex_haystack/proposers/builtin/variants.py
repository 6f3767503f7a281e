"""A composed program without each of its steps, to see what each of them does."""

from autoindex_haystack.program import Program
from autoindex_haystack.proposers.builtin.library import TRANSFORMS
from autoindex_haystack.proposers.builtin.reading import read_recipe
from autoindex_haystack.proposers.builtin.recipe import Recipe
from autoindex_haystack.proposers.builtin.render import render


def without_each_step(program: Program) -> dict[str, str]:
    """Take away one step at a time.

    :param program: A program.
    :returns: What each step does, in words, to the source of the program without it; empty for a program that this
        version has not composed.
    """
    recipe = read_recipe(program.source)
    if recipe.base:
        return {}  # Somebody else's, by another version, or on top of somebody else's.
    found = {}
    for step in recipe.steps:
        others = Recipe(tuple(other for other in recipe.steps if other != step))
        found[TRANSFORMS[step.transform].idea(step.values)] = render(others)
    return found
