"""The built-in proposer builds on an incumbent that somebody else wrote."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.program import Program, builtin_program, check_source
from autoindex_haystack.proposers import Candidate, Outcome, ProposerState
from autoindex_haystack.proposers.builtin import BuiltinProposer
from autoindex_haystack.proposers.builtin.library import TRANSFORMS, compose
from autoindex_haystack.proposers.builtin.reading import read_recipe
from autoindex_haystack.proposers.builtin.recipe import CONSTANT, Recipe, Step
from autoindex_haystack.proposers.builtin.render import render
from autoindex_haystack.proposers.builtin.start import starting_point
from autoindex_haystack.proposers.builtin.variants import without_each_step

THEIRS = '''"""By hand.

  With a margin."""
from __future__ import annotations

import re
from autoindex_haystack.program import BasePreprocessor, Chunk

WORD = """of  # not a comment
many"""

def words_of(text: Nothing) -> int:
    \tlong = (f"""a
  {len(text)}""" "b"
          "c")
    \treturn long

class Preprocessor(BasePreprocessor):
    def calibrate(self, docs):
        return {"documents": sum(1 for _ in docs), "lines": len(WORD.splitlines())}

    def preprocess(self, docs):
        known = f"seen{self.state['documents']} seen{self.state['lines']}"
        return [Chunk(f"{d.doc_id}/x", d.doc_id, f"{d.text} {known} {words_of(d.text)}") for d in docs]
'''
FORMS = Step.of("word_forms", related=False)


@pytest.fixture
def state(bench):
    baseline, theirs = builtin_program("full_document"), Program(THEIRS)
    queries = bench.collection.queries
    before, after = (bench.evaluator.evaluate(program, queries) for program in (baseline, theirs))
    outcome = Outcome(1, Candidate(THEIRS, "by hand", proposer="agents"), after, gain=0.0, adopted=True)
    return ProposerState(
        0,
        2,
        4,
        bench.view,
        theirs,
        after,
        before,
        (outcome,),
        lambda source: [str(problem) for problem in check_source(source)],
        diagnosis=lambda: bench.evaluator.diagnose(theirs, queries),
    )


def test_steps_are_added_to_the_chunks_of_the_incumbent_and_help_as_they_would_alone(state, bench):
    candidates = BuiltinProposer().propose(state)
    assert len(candidates) == state.number
    assert {read_recipe(candidate.source).base for candidate in candidates} == {THEIRS}
    assert {candidate.parents for candidate in candidates} == {(state.incumbent.sha256,)}
    helped = render(compose(Recipe(base=THEIRS), FORMS))
    found = bench.evaluator.evaluate(Program(helped), bench.collection.queries)
    assert state.evaluation.metrics["recall@100"] < 0.5
    assert found.metrics["recall@100"] > 0.9
    # What their program learned from the corpus is still known to it.
    ranked = bench.evaluator.look_up(Program(helped)).search(f"seen{len(bench.collection.documents)} seen2", 10)
    assert len(ranked) == 10


def test_an_incumbent_with_added_steps_is_read_again_and_built_on(state, bench):
    mine = Program(render(compose(Recipe(base=THEIRS), FORMS)))
    assert read_recipe(mine.source) == compose(Recipe(base=THEIRS), FORMS)
    evaluation = bench.evaluator.evaluate(mine, bench.collection.queries)
    adopted = Outcome(2, Candidate(mine.source, "forms", parents=(state.incumbent.sha256,)), evaluation, gain=0.1)
    later = replace(state, iteration=3, incumbent=mine, evaluation=evaluation, history=(*state.history, adopted))
    proposer = BuiltinProposer()
    candidates = proposer.propose(later)
    recipes = [read_recipe(candidate.source) for candidate in candidates]
    assert all(recipe.base == THEIRS and recipe.get("word_forms") for recipe in recipes)
    assert mine.source not in {candidate.source for candidate in candidates}
    longer = [compose(read_recipe(mine.source), step) for step in (Step.of("title", times=3), Step.of("lead"))]
    gained = [Outcome(3, Candidate(render(recipe), "x"), evaluation, gain=0.1) for recipe in longer]
    joined = proposer.combine(replace(later, history=(*later.history, *gained)), gained)
    assert joined is not None
    assert read_recipe(joined.source) == compose(longer[0], Step.of("lead"))


def test_where_nothing_can_be_added_its_own_best_program_is_carried_further(state):
    mine = [Outcome(1, Candidate(render(Recipe((step,))), "x"), state.evaluation) for step in (FORMS, Step.of("title"))]
    better = {name: value + 0.2 for name, value in state.evaluation.metrics.items()}
    mine[0] = replace(mine[0], evaluation=replace(state.evaluation, metrics=better))
    closed = replace(state, history=(*state.history, *mine), trial=lambda source: "no" if THEIRS[:9] in source else "")
    assert starting_point(closed) == Recipe((FORMS,))
    assert all(read_recipe(candidate.source).get("word_forms") for candidate in BuiltinProposer().propose(closed))
    assert starting_point(replace(closed, history=state.history)) == Recipe()


def test_an_edited_program_of_its_own_is_somebody_elses():
    source = render(Recipe((FORMS,)))
    assert read_recipe(source) == Recipe((FORMS,))
    edited = source.replace("pieces = [text]", "pieces = [text.upper()]")
    assert read_recipe(edited) == Recipe(base=edited)
    odd = source.replace('"documents": 2', '"documents": "os"')
    assert read_recipe(odd).base in ("", odd)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
PARAMETERS = sorted({name for transform in TRANSFORMS.values() for name in transform.grid})
STEPS = st.tuples(
    st.sampled_from(sorted(TRANSFORMS)) | VALUES,
    st.dictionaries(st.sampled_from(PARAMETERS) | st.text(max_size=3), VALUES, max_size=4) | VALUES,
)


@given(st.lists(STEPS, max_size=3) | VALUES)
def test_a_recipe_that_a_program_only_claims_to_have_is_never_believed_and_never_an_error(claimed):
    source = f"{CONSTANT} = {claimed!r}\n{THEIRS}"
    assert read_recipe(source) == Recipe(base=source)
    assert without_each_step(Program(source)) == {}
