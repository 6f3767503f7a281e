"""What the library's programs learn, each thing by itself, so that nothing is learned twice."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from autoindex_haystack.collection import Document
from autoindex_haystack.program import what_calibrate_reaches
from autoindex_haystack.proposers.builtin.library import PREPARED, TRANSFORMS
from autoindex_haystack.proposers.builtin.reading import read_recipe
from autoindex_haystack.proposers.builtin.recipe import Recipe, Step
from autoindex_haystack.proposers.builtin.render import render
from autoindex_haystack.proposers.builtin.trusted import is_plain, load_trusted

_CHARACTERS = 6_000_000
"""Characters of the corpus from which a forecast learns what a program would learn from all of it."""

_MOST = 64
"""Things learned that are kept."""


class Learning:
    """Learns from a sample of a corpus what recipes learn, each thing by itself.

    :param documents: The corpus.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._known: dict[str, dict[str, Any]] = {}

    def learn(self, recipe: Recipe, key: str) -> Any:
        """Returns what a recipe's program learns under a key of its state.

        :param recipe: A recipe of the library's transforms.
        :param key: The key.
        """
        alone = _alone(recipe, key)
        source = render(alone)
        form = what_calibrate_reaches(source) or source
        if form not in self._known:
            while len(self._known) >= _MOST:
                del self._known[next(iter(self._known))]
            self._known[form] = load_trusted(alone).calibrate(self._sample)
        return self._known[form][key]

    @cached_property
    def _sample(self) -> list[Document]:
        """The documents that stand for all."""
        size = sum(len(document.text) for document in self._documents)
        step = max(1, -(-size // _CHARACTERS))
        return list(self._documents[::step])


def learned_apart(source: str) -> dict[str, str]:
    """Returns programs that each learn one thing of what a program learns, as it would.

    Programs that differ in one of the things that they learn can so share the others.

    :param source: A program.
    :returns: Key of the state to the source of the program that learns its value; empty for a program that is not the
        library's own, of which nothing is known.
    """
    recipe = read_recipe(source)
    return {key: render(_alone(recipe, key)) for key in expressions(recipe)} if is_plain(recipe) else {}


def expressions(recipe: Recipe) -> dict[str, str]:
    """Returns the expressions by which a recipe's program learns, by their key in the state.

    :param recipe: The recipe.
    """
    steps = [(TRANSFORMS[step.transform], step.values) for step in recipe.steps]
    return {key: text for t, values in steps for key, text in t.learn(t.complete(values)).items()}


def preparing(recipe: Recipe) -> tuple[Step, ...]:
    """Returns the steps of a recipe that change title and text before chunks are made of them.

    :param recipe: The recipe.
    """
    steps = [(step, TRANSFORMS[step.transform]) for step in recipe.steps]
    return tuple(step for step, transform in steps if transform.prepare(transform.complete(step.values)))


def _alone(recipe: Recipe, key: str) -> Recipe:
    """The steps of a recipe that learn a thing, and those that change the texts from which it is learned."""
    return Recipe(tuple(step for step in recipe.steps if _learns(step, key) or _has_a_say(step)))


def _learns(step: Step, key: str) -> bool:
    transform = TRANSFORMS[step.transform]
    return key in transform.learn(transform.complete(step.values))


def _has_a_say(step: Step) -> bool:
    """Whether a step changes the texts from which others learn."""
    transform = TRANSFORMS[step.transform]
    values = transform.complete(step.values)
    return bool(transform.prepare(values)) or transform.shows(values, PREPARED) != PREPARED
