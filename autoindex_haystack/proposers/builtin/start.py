"""What the built-in proposer builds on: the incumbent, whoever wrote it, or else the best of its own programs."""

from collections.abc import Sequence

from autoindex_haystack.proposers.base import ProposerState
from autoindex_haystack.proposers.builtin.library import TRANSFORMS, compose
from autoindex_haystack.proposers.builtin.moves import Move
from autoindex_haystack.proposers.builtin.reading import read_recipe
from autoindex_haystack.proposers.builtin.recipe import Recipe, Step
from autoindex_haystack.proposers.builtin.render import render
from autoindex_haystack.proposers.builtin.worth import worth

_PROBE = Step.of("title", times=1)
"""A step that fits any program."""


def starting_point(state: ProposerState) -> Recipe:
    """Find what to build on.

    :param state: What there is to know.
    :returns: The incumbent's recipe. Steps can be added to a program of somebody else's, too; where that does not work
        within one file, the recipe of the best own program of earlier iterations.
    """
    if state.incumbent.sha256 == state.baseline.program_sha256:
        return Recipe()
    found = read_recipe(state.incumbent.source)
    return found if found.steps or _can_be_embedded(found, state) else _best_own(state)


def fitting(moves: Sequence[Move], recipe: Recipe) -> list[Move]:
    """Returns the moves that make sense for a recipe.

    What changes the text before it is cut into chunks comes too late for the chunks of another program.

    :param moves: The moves.
    :param recipe: What they would be added to.
    """
    return [move for move in moves if not recipe.base or not TRANSFORMS[move.step.transform].prepare(move.step.values)]


def _can_be_embedded(recipe: Recipe, state: ProposerState) -> bool:
    try:
        source = render(compose(recipe, _PROBE))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return not state.check(source) and not (state.trial and state.trial(source))


def _best_own(state: ProposerState) -> Recipe:
    best, most = Recipe(), worth(state.baseline.metrics, state.objective)
    for outcome in state.history:
        recipe = read_recipe(outcome.candidate.source)
        if outcome.evaluation and outcome.iteration < state.iteration and not recipe.base:
            value = worth(outcome.evaluation.metrics, state.objective)
            if value > most:
                best, most = recipe, value
    return best
