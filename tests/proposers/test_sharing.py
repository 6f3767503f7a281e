"""Programs of the library learn the same where the same is reached from ``calibrate``, and most of them share it."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from autoindex_haystack.program import what_calibrate_reaches
from autoindex_haystack.proposers.builtin.learning import learned_apart
from autoindex_haystack.proposers.builtin.library import PREPARED, TRANSFORMS, compose
from autoindex_haystack.proposers.builtin.reading import read_recipe
from autoindex_haystack.proposers.builtin.recipe import Recipe
from autoindex_haystack.proposers.builtin.render import render
from autoindex_haystack.proposers.builtin.trusted import load_trusted

from .test_render import DOCUMENTS, STEPS

LEARNING = {name for name, transform in TRANSFORMS.items() if transform.learn(transform.complete(STEPS[name].values))}
PREPARING = {
    name for name, transform in TRANSFORMS.items() if transform.prepare(transform.complete(STEPS[name].values))
}
SHOWING = {name for name, t in TRANSFORMS.items() if t.shows(t.complete(STEPS[name].values), PREPARED) != PREPARED}

recipes = st.sets(st.sampled_from(sorted(STEPS)), max_size=5).map(
    lambda names: compose(Recipe(), *(STEPS[name] for name in sorted(names)))
)


def learned(recipe):
    return json.dumps(load_trusted(recipe).calibrate(DOCUMENTS), sort_keys=True)


@given(recipes, recipes)
@settings(max_examples=30)
def test_programs_that_reach_the_same_learn_the_same(one, two):
    reached = what_calibrate_reaches(render(one)), what_calibrate_reaches(render(two))
    assert (reached[0] is None) == (not LEARNING & {step.transform for step in one.steps})
    if reached[0] is not None and reached[0] == reached[1]:
        assert learned(one) == learned(two)


@given(recipes, st.sampled_from(sorted(STEPS.keys() - LEARNING - PREPARING - SHOWING)))
@settings(max_examples=30)
def test_a_step_that_only_adds_to_chunks_has_nothing_learned_anew(recipe, name):
    more = compose(recipe, STEPS[name])
    assert what_calibrate_reaches(render(more)) == what_calibrate_reaches(render(recipe))


@given(st.sampled_from(sorted(PREPARING)))
def test_a_step_that_changes_the_texts_has_words_learned_anew(name):
    recipe = compose(Recipe(), STEPS["word_forms"])
    more = compose(recipe, STEPS[name])
    assert what_calibrate_reaches(render(more)) != what_calibrate_reaches(render(recipe))


@given(recipes)
@settings(max_examples=60)
def test_what_is_learned_apart_is_what_is_learned_together(recipe):
    parts = learned_apart(render(recipe))
    apart = {key: load_trusted(read_recipe(source)).calibrate(DOCUMENTS)[key] for key, source in parts.items()}
    assert json.dumps(apart, sort_keys=True) == learned(recipe)


def test_nothing_is_taken_apart_that_is_not_the_librarys_own():
    source = render(compose(Recipe(), STEPS["word_forms"], STEPS["pad"]))
    assert list(learned_apart(source)) == ["length", "forms"]
    assert learned_apart(source + "\n# Edited.\n") == {}
    assert learned_apart(render(Recipe(base=source + "\n# Edited.\n", steps=(STEPS["word_forms"],)))) == {}
