"""The built-in proposer is a pure function of its state, never repeats itself, and uses what it has seen."""

from dataclasses import replace

import pytest

from autoindex_haystack.collection import Document
from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.program import Program, builtin_program, check_source
from autoindex_haystack.proposers import Candidate, CollectionView, Outcome, ProposerState
from autoindex_haystack.proposers.builtin import BuiltinProposer
from autoindex_haystack.proposers.builtin.plans import ADDITION, Plan
from autoindex_haystack.proposers.builtin.proposer import _varied
from autoindex_haystack.proposers.builtin.reading import read_recipe
from autoindex_haystack.proposers.builtin.recipe import Recipe, Step
from autoindex_haystack.proposers.builtin.render import render


def evaluation(program, objective=0.5, rankings=None):
    metrics = dict.fromkeys(("recall@100", "ndcg@10", "ndcg_binary@10", "recall@10", "mrr@10"), objective)
    return Evaluation(program.sha256, {}, metrics, 1, 1, 1.0, (), {}, rankings or {})


@pytest.fixture
def state():
    documents = [
        Document(
            f"d{i}",
            f"Package: tool{i}\nDepends: libc6, libgcc, libm\nDescription: connecting parseHTML{i} to café {i}\n"
            + " more words" * (i % 60),
        )
        for i in range(80)
    ]
    queries = {f"q{i}": f"connect html {i}" for i in range(10)}
    qrels = {f"q{i}": {f"d{i}": 1} for i in range(10)}
    program = builtin_program("full_document")
    rankings = {f"q{i}": [(f"d{40 + i}", 2.0), (f"d{50 + i}", 1.0)] for i in range(10)}
    view = CollectionView(documents, queries, qrels, "bm25s")
    before = evaluation(program, rankings=rankings)
    return ProposerState(
        0, 1, 4, view, program, before, before, (), lambda source: [str(p) for p in check_source(source)]
    )


def outcome(candidate, gain, iteration=1, **options):
    return Outcome(iteration, candidate, evaluation(Program(candidate.source), 0.5 + gain), gain=gain, **options)


def test_candidates_are_valid_different_and_explained(state):
    candidates = BuiltinProposer().propose(state)
    assert len(candidates) == state.number
    assert len({c.sha256 for c in candidates}) == len(candidates)
    for candidate in candidates:
        assert check_source(candidate.source) == []
        assert candidate.idea
        assert candidate.rationale
        assert candidate.parents == (state.incumbent.sha256,)


def test_the_same_state_gives_the_same_candidates(state):
    assert BuiltinProposer().propose(state) == BuiltinProposer().propose(state)


def test_word_forms_come_first_where_queries_use_other_forms(state):
    plain = replace(state.collection, queries={query: f"connect {query[1:]}" for query in state.collection.queries})
    recipe = read_recipe(BuiltinProposer().propose(replace(state, collection=plain))[0].source)
    assert recipe.get("word_forms")


def test_no_program_is_proposed_twice_until_nothing_is_left(state):
    proposer, seen, history = BuiltinProposer(), set(), []
    for iteration in range(1, 60):
        candidates = proposer.propose(replace(state, iteration=iteration, history=tuple(history)))
        if not candidates:
            break
        for candidate in candidates:
            assert candidate.sha256 not in seen
            seen.add(candidate.sha256)
            history.append(outcome(candidate, -0.01, iteration))
    else:
        pytest.fail("the proposer never ends")
    assert len(seen) > 20


def test_changes_build_on_the_incumbent(state):
    first = BuiltinProposer().propose(state)[0]
    adopted = outcome(first, 0.1, adopted=True)
    program = Program(first.source)
    later = replace(state, iteration=2, incumbent=program, evaluation=replace(state.evaluation), history=(adopted,))
    kept = {step.transform for step in read_recipe(first.source).steps}
    for candidate in BuiltinProposer().propose(later):
        assert len(kept - {step.transform for step in read_recipe(candidate.source).steps}) <= 1
        assert candidate.parents == (program.sha256,)


def test_each_step_of_an_adopted_program_is_tried_without(state):
    steps = (Step.of("identifiers"), Step.of("hyphens"), Step.of("word_forms", documents=3, most=4, once=False))
    first = Candidate(render(Recipe(steps)), "three steps", parents=(state.incumbent.sha256,))
    history = [outcome(first, 0.1, adopted=True)]
    left_out = set()
    for iteration in range(2, 6):
        later = replace(state, iteration=iteration, incumbent=Program(first.source), history=tuple(history))
        for candidate in BuiltinProposer().propose(later):
            recipe = read_recipe(candidate.source)
            left_out |= set(steps) - set(recipe.steps) if len(recipe.steps) < len(steps) else set()
            history.append(outcome(candidate, -0.01, iteration))
    assert left_out == set(steps)


def test_a_step_that_changed_nothing_is_not_tried_in_other_company(state):
    idle = Candidate(render(Recipe((Step.of("hyphens"),))), "hyphens", parents=(state.incumbent.sha256,))
    history = [replace(outcome(idle, 0.0), gain=0.0)]
    seen = set()
    for iteration in range(2, 40):
        later = replace(state, number=8, iteration=iteration, history=tuple(history))
        candidates = BuiltinProposer().propose(later)
        if not candidates:
            break
        for candidate in candidates:
            steps = tuple(s for s in read_recipe(candidate.source).steps if s.transform != "hyphens")
            assert steps
            assert steps not in seen
            seen.add(steps)
            history.append(outcome(candidate, -0.01, iteration))
    assert len(seen) > 20


def test_what_helped_before_is_tried_on_the_new_incumbent_first(state):
    candidates = BuiltinProposer().propose(state)
    winner, second, *rest = candidates
    history = (
        outcome(winner, 0.10, adopted=True),
        outcome(second, 0.05),
        *(outcome(candidate, -0.10) for candidate in rest),
    )
    later = replace(state, iteration=2, incumbent=Program(winner.source), history=history)
    again = read_recipe(BuiltinProposer().propose(later)[0].source)
    assert set(read_recipe(second.source).steps) <= set(again.steps)


def test_combining_joins_the_steps_of_all_improvements(state):
    proposer = BuiltinProposer()
    candidates = proposer.propose(replace(state, number=6))
    transforms = {}
    for candidate in candidates:
        steps = read_recipe(candidate.source).steps
        if len(steps) == 1:
            transforms.setdefault(steps[0].transform, candidate)
    improvements = [outcome(candidate, 0.05) for candidate in list(transforms.values())[:3]]
    combined = proposer.combine(replace(state, history=tuple(improvements)), improvements)
    assert check_source(combined.source) == []
    assert {s.transform for s in read_recipe(combined.source).steps} == {
        s.transform for o in improvements for s in read_recipe(o.candidate.source).steps
    }
    assert combined.parents == tuple(o.candidate.sha256 for o in improvements)


def test_combining_field_changes_keeps_both(state):
    plain = Step.of("fields", markup="record", title="Package", dropped=[], repeated={})
    changes = [plain.having(dropped=["Depends"]), plain.having(repeated={"Description": 2})]
    improvements = [outcome(Candidate(render(Recipe((step,))), "x"), 0.1) for step in changes]
    combined = BuiltinProposer().combine(replace(state, history=tuple(improvements)), improvements)
    values = read_recipe(combined.source).get("fields").values
    assert values["dropped"] == ["Depends"]
    assert values["repeated"] == {"Description": 2}


def test_nothing_is_combined_when_the_result_was_tried(state):
    proposer = BuiltinProposer()
    first = proposer.propose(state)[0]
    improvements = [outcome(first, 0.1), outcome(first, 0.1)]
    assert proposer.combine(replace(state, history=tuple(improvements)), improvements) is None


def test_a_shorter_program_that_turned_out_as_good_is_proposed_again_once(state):
    steps = (Step.of("hyphens"), Step.of("word_forms", documents=3, most=4, once=False))
    short, long = (Candidate(render(Recipe(s)), "", parents=(state.incumbent.sha256,)) for s in (steps[1:], steps))
    history = [outcome(short, 0.1), outcome(long, 0.1, adopted=True)]
    later = replace(state, iteration=2, incumbent=Program(long.source), evaluation=history[1].evaluation)
    found = [c for c in BuiltinProposer().propose(replace(later, history=tuple(history))) if c.sha256 == short.sha256]
    assert [candidate.simplifies for candidate in found] == [True]
    history.append(outcome(found[0], 0.0, 2))
    again = BuiltinProposer().propose(replace(later, iteration=3, history=tuple(history)))
    assert short.sha256 not in {candidate.sha256 for candidate in again}


def test_a_round_holds_more_than_the_variants_of_its_best_change():
    def plan(subject, expected, n):
        return Plan(Recipe((Step.of(subject, n=n),)), ADDITION, subject, f"{subject} {n}", "", expected=expected)

    best = [plan("identifiers", 0.2 - n / 1000, n) for n in range(3)]
    others = [plan(name, 0.01, 0) for name in ("title", "lead", "pad")]
    varied = [chosen.subject for chosen in _varied([*best, *others])]
    assert varied[0] == "identifiers"
    assert set(varied[1:4]) == {"title", "lead", "pad"}
