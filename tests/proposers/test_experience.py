"""What was tried changes what is expected: of the same step, of other parameters, in other company."""

from dataclasses import replace

import pytest

from autoindex_haystack.collection import Document
from autoindex_haystack.evaluation import METRICS, Evaluation
from autoindex_haystack.evaluation.objective import OBJECTIVES
from autoindex_haystack.program import Program
from autoindex_haystack.proposers import Candidate, Outcome
from autoindex_haystack.proposers.builtin.experience import Experience
from autoindex_haystack.proposers.builtin.forecast import Forecast
from autoindex_haystack.proposers.builtin.library import TRANSFORMS
from autoindex_haystack.proposers.builtin.moves import Move
from autoindex_haystack.proposers.builtin.plans import Judge, Plan, no_better_than_forecast, promising_first
from autoindex_haystack.proposers.builtin.priors import Priors, Row, kind_of
from autoindex_haystack.proposers.builtin.profile import Profile, profile_corpus
from autoindex_haystack.proposers.builtin.recipe import Recipe, Step
from autoindex_haystack.proposers.builtin.render import render

FORMS, MORE = (Step.of("word_forms", documents=3, most=most, once=False) for most in (4, 8))
TITLE, HYPHENS = Step.of("title", times=2), Step.of("hyphens")
NOTHING = Recipe()


def evaluation(source, objective, size=1):
    return Evaluation(Program(source).sha256, {}, dict.fromkeys(METRICS, objective), 1, size, 1.0, (), {}, {})


BASELINE = evaluation("", 0.5)


def both(changes):
    return {name: {"recall@100": change, "ndcg@10": 0.0} for name, change in changes.items()}


def tried(steps, objective, parent=BASELINE.program_sha256, size=2):
    source = render(Recipe(tuple(steps)))
    found = None if objective is None else evaluation(source, objective, size)
    return Outcome(1, Candidate(source, "", parents=(parent,)), found)


def surplus(history, steps, forecasts=None, priors=None, objective="recall@100"):
    forecasts = forecasts or {FORMS: 0.0, MORE: 0.0, TITLE: 0.0}
    experience = Experience.of(history, BASELINE, forecasts, priors or {}, objective)
    return experience.adjust(Recipe(tuple(steps)), NOTHING)[0]


def test_without_outcomes_a_forecast_stands():
    assert surplus([], [FORMS]) == 0.0


@pytest.mark.parametrize("gain", [0.04, -0.04])
def test_an_outcome_moves_its_step_most_and_other_parameters_less(gain):
    history = [tried([FORMS], 0.5 + gain)]
    own, other, apart = (surplus(history, [step]) * (1 if gain > 0 else -1) for step in (FORMS, MORE, TITLE))
    assert own > other > 0.005
    assert own == pytest.approx(1.25 * abs(gain), rel=0.1)
    assert apart == pytest.approx(0.0, abs=1e-9)


def test_an_outcome_is_worth_what_the_objective_says():
    outcome = tried([FORMS], 0.5)
    metrics = {**outcome.evaluation.metrics, "recall@100": 0.46, "ndcg@10": 0.54}
    history = [replace(outcome, evaluation=replace(outcome.evaluation, metrics=metrics))]
    worths = {objective: surplus(history, [FORMS], objective=objective) for objective in OBJECTIVES}
    assert worths["recall@100"] < -0.02
    assert worths["ndcg@10"] > 0.02
    assert worths["weighted"] == pytest.approx(0.0, abs=1e-9)


def test_an_outcome_as_forecast_changes_nothing():
    assert surplus([tried([FORMS], 0.54)], [MORE], {FORMS: 0.05, MORE: 0.05}) == pytest.approx(0.0, abs=1e-9)


def test_gains_that_were_not_adopted_are_expected_to_add_up():
    history = [tried([FORMS], 0.53), tried([TITLE], 0.52)]
    both = surplus(history, [TITLE, FORMS])
    assert both == pytest.approx(surplus(history, [TITLE]) + surplus(history, [FORMS]))
    assert both > 0.05


def test_a_step_learns_from_the_company_in_which_it_was_tried():
    history = [tried([FORMS], 0.56), tried([TITLE, FORMS], 0.53)]
    assert surplus(history, [TITLE]) < -0.02


def test_a_program_that_failed_is_not_expected_to_help():
    assert surplus([tried([FORMS], None)], [FORMS]) < -0.03


def test_what_changed_nothing_is_left_out_of_the_canonical_recipe():
    first = tried([FORMS], 0.52)
    history = [first, tried([HYPHENS, FORMS], 0.52, first.candidate.sha256), tried([TITLE], 0.5, size=3)]
    experience = Experience.of(history, BASELINE, {}, {})
    assert experience.idle == {HYPHENS}
    assert experience.canonical(Recipe((HYPHENS, TITLE))) == Recipe((TITLE,))


def test_priors_come_from_other_corpora_and_most_from_the_same_kind():
    tail = "that is long enough to tell a corpus by it, and has words enough"
    documents = [Document(str(i), f"words of text {i} {tail}") for i in range(90)]
    others = [replace(document, text=f"other {document.text}") for document in documents]
    profile = profile_corpus(documents)
    near, far = kind_of(profile), "another kind"
    own = Row(sorted(profile.sketch), near, both({"title": 0.5}), both({"title": 0.5}))
    table = Priors(
        (
            own,
            Row(["a"], near, both({"lead": 0.02}), both({"lead": 0.01})),
            Row(["b"], far, both({"lead": -0.02, "hyphens": 0.01}), both({"lead": -0.01})),
        )
    )
    found = table.gains(profile, "recall@100")
    assert set(found) == {"lead", "hyphens"}
    assert found["lead"] > 0
    assert 0 < found["hyphens"] < 0.01
    assert 0 < table.surplus(profile, "recall@100")["lead"] < 0.02
    for shared in (documents[::2], documents[::-1], [*others, *documents]):
        assert "title" not in table.gains(profile_corpus(shared), "recall@100")
    elsewhere = table.gains(profile_corpus(others), "recall@100")
    assert 0 < elsewhere["title"] < 0.03, "what changes all on one collection does not speak for others"
    assert kind_of(Profile(markup="xml", long=0.9)) == "xml long"


def test_priors_are_worth_what_the_objective_says():
    row = Row(["a"], "text short", {"lead": {"recall@100": 0.01, "ndcg@10": -0.01}}, {})
    profile = Profile()
    gains = {objective: Priors((row,)).gains(profile, objective)["lead"] for objective in OBJECTIVES}
    assert gains["recall@100"] > 0 > gains["ndcg@10"]
    assert gains["weighted"] == pytest.approx(0.0)


def test_priors_move_what_is_expected():
    assert surplus([], [FORMS], priors={"word_forms": 0.01}) == pytest.approx(0.01)


def test_the_shipped_table_names_no_collection():
    rows = Priors.shipped().rows
    assert len({text for row in rows for text in row.corpus}) == sum(len(row.corpus) for row in rows)
    for row in rows:
        assert all(set(text) <= set("0123456789abcdef") for text in row.corpus)
        assert set(row.surplus) <= set(TRANSFORMS)
        assert set(row.gain) <= set(TRANSFORMS)


def judged(objective, max_growth, **figures):
    forecast = Forecast(**{"reached": 0, "lost": 0, "missed": 5, "growth": 1.0, "idle": False, **figures})
    experience = Experience.of([], BASELINE, {}, {}, objective)
    judge = Judge(NOTHING, 1.0, experience, None, objective, max_growth)
    return judge.expect(Plan(Recipe((FORMS,)), "addition", "word_forms", "", "", forecast=forecast)).expected


def test_plans_are_ranked_by_the_objective():
    top, deep = {"recall": 0.0, "ndcg": 0.02}, {"recall": 0.02, "ndcg": 0.0}
    assert judged("recall@100", None, **deep) > judged("recall@100", None, **top)
    assert judged("ndcg@10", None, **top) > judged("ndcg@10", None, **deep)
    assert judged("weighted", None, **top) == pytest.approx(judged("weighted", None, **deep))


def test_a_plan_beyond_the_largest_growth_is_expected_to_be_refused():
    plan = {"recall": 0.02, "ndcg": 0.0, "growth": 2.0}
    assert judged("recall@100", 3.0, **plan) == judged("recall@100", None, **plan) > 0
    assert judged("recall@100", 1.5, **plan) < 0


def test_a_guess_promises_no_more_than_the_forecasts_of_its_transform():
    forecast = Forecast(recall=0.01, ndcg=0.0, reached=1, lost=0, missed=5, growth=1.0, idle=False)
    plans = [
        Plan(Recipe((FORMS,)), "addition", "word_forms", "", "", 0.5, forecast=forecast),
        Plan(Recipe((MORE,)), "addition", "word_forms", "", "", 0.5),
        Plan(Recipe((TITLE,)), "addition", "title", "", "", 0.5),
    ]
    assert [plan.guess for plan in no_better_than_forecast(plans, "recall@100")] == [0.01, 0.01, 0.5]


def test_what_gained_elsewhere_is_forecast_first():
    moves = [Move(TITLE, 0.5, ""), Move(HYPHENS, 0.4, ""), Move(FORMS, 0.3, "")]
    assert promising_first(moves, {}) == moves
    assert promising_first(moves, {"word_forms": 0.02}) == [moves[2], *moves[:2]]
