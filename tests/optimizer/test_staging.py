"""Candidates that a part of a large corpus speaks against go no further; only what ran over everything is adopted."""

from dataclasses import replace

import numpy as np

from autoindex_haystack.evaluation import Evaluator
from autoindex_haystack.optimizer import SearchSettings, optimize, staging
from autoindex_haystack.optimizer.acceptance import acceptance_rule
from autoindex_haystack.optimizer.events import CandidateTried
from autoindex_haystack.program import builtin_program
from autoindex_haystack.proposers import Dropped, Outcome

from .scripted import BOTH, MORE_STEMS, SAME, STEMS, WORSE, Scripted, candidate, journal


def search(collection, out, *rounds, **settings):
    events = []
    proposer = Scripted(*rounds)
    chosen = SearchSettings(iterations=len(rounds), candidates=8, **settings)
    result = optimize(collection, out, settings=chosen, proposer=proposer, listener=events.append)
    return result, [event.outcome for event in events if isinstance(event, CandidateTried)], proposer


def test_candidates_with_poor_estimates_are_dropped_and_the_best_is_adopted(collection, tmp_path, monkeypatch):
    evaluated = []
    original = Evaluator.evaluate

    def spy(self, program, queries, **options):
        evaluated.append(program.sha256)
        return original(self, program, queries, **options)

    monkeypatch.setattr(Evaluator, "evaluate", spy)
    result, outcomes, proposer = search(
        collection, tmp_path / "run", [SAME, WORSE, BOTH, MORE_STEMS], [STEMS], stage_size=100
    )
    same, worse, both = outcomes[:3]
    assert both.evaluation
    assert not both.dropped
    assert result.program_sha256 == both.candidate.sha256
    poorer = outcomes[-1]
    for outcome in (same, worse, poorer):
        assert outcome.evaluation is None
        assert not outcome.error
        assert outcome.candidate.sha256 not in evaluated
        assert outcome.gain == outcome.dropped.gain <= outcome.dropped.most
        assert 100 <= outcome.dropped.documents < len(collection.documents) / 2
    assert worse.gain < -0.1 < same.gain
    assert worse.dropped.certain
    assert result.dropped == 3
    assert result.tried == len(outcomes)
    assert result.seconds["stage"] > 0
    assert [o.dropped for o in proposer.states[1].history] == [o.dropped for o in outcomes[:-1]]
    written = [record for record in journal(tmp_path / "run") if record["record"] == "dropped"]
    assert [record["program"] for record in written[:2]] == [same.candidate.sha256, worse.candidate.sha256]
    assert written[0]["gain"] == same.gain


def test_what_is_dropped_for_certain_could_not_have_been_adopted(collection, tmp_path, monkeypatch):
    """The same search with and without dropping; its estimates play no part."""
    rounds = [WORSE, MORE_STEMS, "doc.text[:40]", SAME], [STEMS, "doc.text[9:]", BOTH]
    whole, tried, _ = search(collection, tmp_path / "whole", *rounds, stage_size=10_000)
    assert not any(outcome.dropped for outcome in tried)
    monkeypatch.setattr(staging, "STAGE_SIZE", 60)
    early, outcomes, _ = search(collection, tmp_path / "early", *rounds, stage_size=0)
    assert [outcome.candidate.sha256 for outcome in outcomes if outcome.dropped][:1] == [candidate(WORSE).sha256]
    assert early.learned == whole.learned
    assert early.component_sha256 == whole.component_sha256
    for one, other in zip(tried, outcomes, strict=True):
        if other.dropped:
            assert other.dropped.certain
            assert one.gain <= other.dropped.most
        else:
            assert one.gain == other.gain


def test_a_small_corpus_has_no_stage(collection, tmp_path):
    result, outcomes, _ = search(collection, tmp_path / "run", [WORSE, SAME])
    assert result.dropped == 0
    assert all(outcome.evaluation for outcome in outcomes)


def test_a_program_that_fails_within_or_beyond_the_stage_has_failed(collection, tmp_path):
    """The first document that fails is the last of the corpus for one program, and any for the other."""
    last = f"{BOTH} if doc.text != {collection.documents[-1].text!r} else 1 / 0"
    result, outcomes, _ = search(collection, tmp_path / "run", [last, "1 / 0", SAME], stage_size=100)
    assert [bool(outcome.error) for outcome in outcomes] == [True, True, False]
    assert result.failed == 2
    assert result.adopted == 0


def test_the_best_estimates_go_on_half_of_the_candidates_at_most(collection):
    """However many look good; those that are clearly worse than the incumbent do not, even if there is room."""
    queries = list(collection.queries)[:10]
    with Evaluator(collection) as evaluator:
        found = staging.Staging(evaluator, queries, SearchSettings(stage_size=100))
        evaluation = evaluator.evaluate(builtin_program("full_document"), queries)
        found.prepare(builtin_program("full_document"), evaluation, smallest_gain=1e-5)
        begun = evaluator.begin(builtin_program("full_document"), queries, found.ordinals)
        assessed = found.assess(begun)
    assert assessed.gain == 0
    for gains, kept in (
        ([0.1, 0.3, 0.2, 0.4], {1, 3}),
        ([0.1, 0.1, 0.1], {0, 1}),
        ([-0.5, -0.01, -0.6, -0.7], {1}),
        ([-0.5], set()),
        ([0.0], {0}),
    ):
        many = {
            place: replace(
                assessed,
                gain=gain,
                error=0.02,
                most=1.0,
            )
            for place, gain in enumerate(gains)
        }
        assert set(many) - set(found.decide(many)) == kept
    unsure = {i: replace(assessed, gain=-0.01 * i, error=0.01 * i, most=1.0) for i in range(4)}
    assert set(found.decide(unsure)) == {0, 1}, "the less is known of a candidate, the better it may be"
    sure = {0: replace(assessed, gain=0.0, most=1e-6), 1: replace(assessed, gain=0.0, most=1e-5)}
    assert [(i, dropped.certain) for i, dropped in found.decide(sure).items()] == [(0, True)]


def test_what_was_dropped_counts_among_what_was_tried(collection):
    """The more was tried, the less a gain tells: as much when the others were dropped as when they were evaluated."""
    queries = list(collection.queries)
    rng = np.random.default_rng(0)
    with Evaluator(collection) as evaluator:
        incumbent = evaluator.evaluate(builtin_program("full_document"), queries)

    def better(chance):
        scores = {
            query: {metric: value + 0.1 * (rng.random() < chance) for metric, value in values.items()}
            for query, values in incumbent.scores.items()
        }
        return replace(
            incumbent, scores=scores, metrics={**incumbent.metrics, "recall@100": incumbent.objective + 0.01}
        )

    winner, *others = (better(chance) for chance in (0.2, *[0.1] * 7))
    promising = Outcome(1, candidate(BOTH), winner, gain=0.01)
    evaluated = [Outcome(1, candidate(f"{n}"), other, gain=0.0) for n, other in enumerate(others)]
    dropped = [
        replace(outcome, evaluation=None, dropped=Dropped(9, 0.0, 0.0, 1.0, certain=False, scores=other.scores))
        for outcome, other in zip(evaluated, others, strict=True)
    ]
    alone, all_evaluated, most_dropped = (
        acceptance_rule(SearchSettings(), len(queries)).decide(1, [promising, *rest], incumbent)
        for rest in ([], evaluated, dropped)
    )
    assert len(alone) == len(all_evaluated) == len(most_dropped) == 1
    assert alone[0].mark < most_dropped[0].mark == all_evaluated[0].mark
