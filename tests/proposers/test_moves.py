"""Each transform is proposed where the corpus or the missed documents speak for it, and not elsewhere."""

import pytest

from autoindex_haystack.proposers.builtin.contrast import Contrast
from autoindex_haystack.proposers.builtin.library import TRANSFORMS
from autoindex_haystack.proposers.builtin.moves import moves
from autoindex_haystack.proposers.builtin.profile import Profile
from autoindex_haystack.proposers.builtin.recipe import Recipe
from autoindex_haystack.proposers.builtin.render import render

PLAIN = Profile(words=30.0)

SPEAKING = {
    "boilerplate": (Profile(boilerplate=0.2), Contrast()),
    "fields": (Profile(markup="record", field_shares={"Text": 0.9}), Contrast()),
    "markdown": (Profile(markdown=0.1), Contrast()),
    "addresses": (Profile(addresses=0.1), Contrast()),
    "labels": (Profile(labels=0.1), Contrast()),
    "repeated_lines": (Profile(repeated_lines=0.1), Contrast()),
    "latex": (Profile(latex=3.0), Contrast()),
    "metadata": (Profile(metadata=("section",)), Contrast()),
    "title": (Profile(titled=1.0), Contrast()),
    "headings": (Profile(headings=0.8, heading="wiki"), Contrast()),
    "aliases": (Profile(aliases=0.3, titled=1.0), Contrast()),
    "lead": (Profile(words=100), Contrast()),
    "lead_chunk": (Profile(words=100), Contrast()),
    "key_words": (Profile(long=0.8), Contrast()),
    "key_sentences": (Profile(long=0.8), Contrast()),
    "passages": (Profile(long=0.8), Contrast()),
    "sections": (Profile(long=0.8, headings=0.8, heading="numbered"), Contrast()),
    "elements": (Profile(long=0.8, markup="xml", element="qa"), Contrast()),
    "identifiers": (PLAIN, Contrast(gains={"identifiers": 0.05})),
    "hyphens": (PLAIN, Contrast(gains={"hyphens": 0.05})),
    "letters": (PLAIN, Contrast(gains={"letters": 0.05})),
    "numbers": (PLAIN, Contrast(gains={"numbers": 0.05})),
    "abbreviations": (PLAIN, Contrast(gains={"abbreviations": 0.05})),
    "compounds": (PLAIN, Contrast(gains={"compounds": 0.05})),
    "flatten": (PLAIN, Contrast(stuffing=2.0)),
    "pad": (Profile(spread=3.0), Contrast(length=2.0)),
    "word_forms": (PLAIN, Contrast(forms=0.1)),
}
"""A profile and a contrast that speak for each transform."""


def proposed(profile, contrast):
    return {move.step.transform: move for move in moves(Recipe(), profile, contrast)}


def test_every_transform_of_the_library_has_a_rule():
    assert set(SPEAKING) == set(TRANSFORMS)


@pytest.mark.parametrize("name", SPEAKING)
def test_a_transform_is_proposed_where_the_evidence_speaks_for_it(name):
    found = proposed(*SPEAKING[name])
    assert name in found
    assert found[name].reason
    assert TRANSFORMS[name].idea(found[name].step.values)
    assert render(found[name].apply(Recipe()))


@pytest.mark.parametrize("name", [name for name in SPEAKING if name != "word_forms"])
def test_a_plain_corpus_gets_no_transform_for_structure(name):
    assert name not in proposed(PLAIN, Contrast())


def test_no_two_moves_make_programs_that_differ_in_the_recipe_alone():
    evidence = Contrast(forms=0.2, gains={"identifiers": 0.1, "compounds": 0.1}, stuffing=2.0, length=2.0)
    found = moves(Recipe(), Profile(words=200, long=0.8, spread=3.0, latex=2.0, titled=1.0), evidence)
    programs = [render(move.apply(Recipe())).partition("RECIPE = ")[2].partition("]\n")[2] for move in found]
    ideas = [TRANSFORMS[move.step.transform].idea(move.step.values) for move in found]
    assert len(set(zip(programs, ideas, strict=True))) == len(found)


def test_more_evidence_makes_a_move_more_promising():
    for name in ("numbers", "compounds", "abbreviations"):
        weak, strong = (proposed(PLAIN, Contrast(gains={name: gain}))[name].score for gain in (0.002, 0.1))
        assert weak < strong
