"""A forecast is what an evaluation finds where the corpus is read whole, and near it where it is sampled."""

from dataclasses import replace

import pytest

from autoindex_haystack.collection import Document
from autoindex_haystack.program import Program, builtin_program
from autoindex_haystack.proposers import Candidate, Outcome, ProposerState
from autoindex_haystack.proposers.builtin import BuiltinProposer, pool
from autoindex_haystack.proposers.builtin.forecast import Forecaster
from autoindex_haystack.proposers.builtin.recipe import Recipe, Step
from autoindex_haystack.proposers.builtin.render import render
from autoindex_haystack.proposers.builtin.trusted import is_plain, load_trusted

FORMS = Step.of("word_forms", documents=3, most=4, once=False, related=False)
PASSAGES = Step.of("passages", words=10)
LEAD = Step.of("lead", words=10, times=2)


@pytest.fixture(scope="module")
def diagnosis(bench):
    return bench.evaluator.diagnose(builtin_program("full_document"), bench.collection.queries)


@pytest.fixture(scope="module")
def baseline(bench):
    return bench.evaluator.evaluate(builtin_program("full_document"), bench.collection.queries)


@pytest.mark.parametrize("steps", [(FORMS,), (PASSAGES,), (LEAD,), (LEAD, FORMS), (PASSAGES, FORMS)])
def test_a_small_corpus_is_forecast_exactly(bench, diagnosis, baseline, steps):
    forecast = Forecaster(bench.view, diagnosis, Recipe(), {}, 0).forecast(Recipe(steps))
    evaluation = bench.evaluator.evaluate(Program(render(Recipe(steps))), bench.collection.queries)
    assert forecast.recall == pytest.approx(evaluation.objective - baseline.objective, abs=1e-9)
    assert forecast.ndcg == pytest.approx(evaluation.metrics["ndcg@10"] - baseline.metrics["ndcg@10"], abs=0.01)
    found = [{q: {d for d, _ in e.rankings[q]} for q in e.rankings} for e in (baseline, evaluation)]
    relevant = [(query, doc) for query, grades in bench.collection.qrels.items() for doc in grades]
    assert forecast.reached == sum(doc in found[1][q] and doc not in found[0][q] for q, doc in relevant)
    assert forecast.lost == sum(doc in found[0][q] and doc not in found[1][q] for q, doc in relevant)
    assert forecast.missed == len(diagnosis.misses())


def test_a_forecast_of_a_later_incumbent_is_relative_to_it(bench):
    program = Program(render(Recipe((FORMS,))))
    incumbent = bench.evaluator.evaluate(program, bench.collection.queries)
    diagnosis = bench.evaluator.diagnose(program, bench.collection.queries, before=incumbent)
    forecaster = Forecaster(bench.view, diagnosis, Recipe((FORMS,)), incumbent.state, 0)
    assert forecaster.forecast(Recipe((FORMS,))).idle
    both = bench.evaluator.evaluate(Program(render(Recipe((LEAD, FORMS)))), bench.collection.queries)
    expected = both.objective - incumbent.objective
    assert forecaster.forecast(Recipe((LEAD, FORMS))).recall == pytest.approx(expected, abs=1e-9)


def test_forecasts_in_a_row_are_those_of_fresh_forecasters(bench, diagnosis):
    """Texts that were prepared for one recipe serve another only when that prepares them in the same way."""
    documents = [Document(d.doc_id, f"filler1 [filler2]\n{d.text}") for d in bench.collection.documents]
    view = replace(bench.view, documents=documents)
    cleaning = [(), (Step.of("boilerplate", share=0.05),), (Step.of("labels", share=0.01),)]
    recipes = [Recipe((*steps, *more)) for more in ((), (LEAD,)) for steps in cleaning]
    forecaster = Forecaster(view, diagnosis, Recipe(), {}, 0)
    found = [forecaster.forecast(recipe) for recipe in recipes]
    assert found == [Forecaster(view, diagnosis, Recipe(), {}, 0).forecast(recipe) for recipe in recipes]
    assert len({forecast.growth for forecast in found}) == len(found)


def test_a_sampled_corpus_shows_the_same_direction(bench, diagnosis, monkeypatch):
    monkeypatch.setattr(pool, "CHARACTERS", 20_000)
    forecaster = Forecaster(bench.view, diagnosis, Recipe(), {}, 0)
    assert not forecaster._pool.whole
    forecast = forecaster.forecast(Recipe((FORMS,)))
    assert forecast.recall > 0.1
    assert forecast.reached > forecast.lost
    assert forecast == Forecaster(bench.view, diagnosis, Recipe(), {}, 0).forecast(Recipe((FORMS,)))


@pytest.mark.parametrize(
    "step",
    [
        Step.of("passages", words='9) or open("/tmp/x", "w") or (9'),
        Step.of("fields", markup="xml(text) or exit() or split_xml", title="", dropped=[], repeated={}),
        Step.of("fields", markup="xml", title="", dropped=["it's"], repeated={}),
        Step.of("title", times=10**9),
        Step.of("fields", markup="xml", title="", dropped=[], repeated={"a": 10**9}),
        Step.of("unheard_of"),
    ],
)
def test_what_is_not_the_librarys_own_never_runs_here(step):
    recipe = Recipe((step,))
    assert not is_plain(recipe)
    with pytest.raises(ValueError, match="not the library's own"):
        load_trusted(recipe)


def test_a_transform_that_fails_on_a_document_has_no_forecast(bench, diagnosis, monkeypatch):
    forecaster = Forecaster(bench.view, diagnosis, Recipe(), {}, 0)
    assert forecaster.forecast(Recipe((Step.of("title", times=10**9),))) is None
    assert forecaster.forecast(Recipe((Step.of("passages", words="many"),))) is None
    assert forecaster.forecast(Recipe((FORMS,))).recall > 0


def test_a_combination_has_only_what_is_forecast_to_add(bench, diagnosis, baseline):
    proposer, harm = BuiltinProposer(), Step.of("passages", words=4)
    state = ProposerState(
        0, 1, 8, bench.view, builtin_program("full_document"), baseline, baseline, diagnosis=lambda: diagnosis
    )
    sources = [render(Recipe((step,))) for step in (FORMS, harm)]
    improvements = [Outcome(1, Candidate(source, source[:20]), baseline, gain=0.01) for source in sources]
    forecaster = Forecaster(bench.view, diagnosis, Recipe(), {}, 0)
    both, alone = (forecaster.forecast(Recipe(steps)) for steps in ((harm, FORMS), (FORMS,)))
    assert both.recall <= alone.recall
    assert proposer.combine(state, improvements) is None
