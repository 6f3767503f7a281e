"""The loop adopts what helps, writes everything down, and looks at the held-out queries once, at the end."""

import json
from dataclasses import replace

import pytest

from autoindex_haystack import load_frozen, optimize
from autoindex_haystack.collection import load_split, make_split
from autoindex_haystack.errors import BackendError, CollectionError, RunError, SandboxUnavailable
from autoindex_haystack.evaluation import METRICS, Evaluator, evaluate
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.optimizer.events import BaselineEvaluated, CandidateTried, IterationEnded
from autoindex_haystack.program import Program, builtin_program
from autoindex_haystack.proposers import Candidate
from autoindex_haystack.runs import read_result
from autoindex_haystack.sandbox import runner

from .scripted import BOTH, BROKEN, MORE_STEMS, PROGRAM, SAME, STEMS, WORSE, Scripted, candidate, journal, search


def test_an_improvement_is_adopted_frozen_and_scored_on_held_out_queries(collection, tmp_path):
    result, _ = search(collection, tmp_path / "run", Scripted([STEMS]))
    assert result.adopted == 1
    assert result.learned.validation["recall@100"] > result.baseline.validation["recall@100"]
    frozen = load_frozen(tmp_path / "run" / "frozen")
    assert frozen.program.sha256 == result.program_sha256 == candidate(STEMS).sha256
    assert frozen.manifest.sha256 == result.component_sha256
    split = load_split(tmp_path / "run", collection)
    again = evaluate(collection, frozen, queries="held-out", split=split)
    assert again.metrics == pytest.approx(result.learned.held_out)
    assert [step.program_sha256 for step in frozen.manifest.lineage] == [result.program_sha256]


@pytest.mark.parametrize("expressions", [[SAME], [WORSE], [BROKEN], [SAME, WORSE, BROKEN], []])
def test_nothing_is_adopted_when_nothing_helps(collection, tmp_path, expressions):
    result, _ = search(collection, tmp_path / "run", Scripted(expressions))
    assert result.adopted == 0
    assert result.learned == result.baseline
    assert result.program_sha256 == builtin_program("full_document").sha256
    assert result.failed == sum(expression in (BROKEN, WORSE) for expression in expressions if expression == BROKEN)
    assert load_frozen(result.frozen).manifest.lineage == []


def test_the_best_single_improvement_wins_when_there_is_no_combination(collection, tmp_path):
    proposer = Scripted([MORE_STEMS, BOTH, SAME])
    result, _ = search(collection, tmp_path / "run", proposer)
    assert result.program_sha256 == candidate(BOTH).sha256
    assert [o.candidate.sha256 for o in proposer.improvements] == [candidate(BOTH).sha256, candidate(MORE_STEMS).sha256]


def test_a_combination_is_adopted_only_when_it_beats_the_best_single_improvement(collection, tmp_path):
    better, _ = search(collection, tmp_path / "a", Scripted([STEMS, MORE_STEMS], combination=BOTH))
    assert better.program_sha256 == candidate(BOTH).sha256
    worse, _ = search(collection, tmp_path / "b", Scripted([STEMS, BOTH], combination=WORSE))
    assert worse.program_sha256 == candidate(BOTH).sha256
    failing, _ = search(collection, tmp_path / "c", Scripted([STEMS, BOTH], combination=BROKEN))
    assert failing.program_sha256 == candidate(BOTH).sha256


def test_gains_are_measured_against_the_incumbent_not_the_baseline(collection, tmp_path):
    proposer = Scripted([BOTH], [STEMS])
    result, events = search(collection, tmp_path / "run", proposer, iterations=2)
    gains = [event.outcome.gain for event in events if isinstance(event, CandidateTried)]
    assert gains[0] > 0 > gains[1]
    assert result.adopted == 1


def test_proposers_see_validation_queries_and_history_only(collection, tmp_path):
    proposer = Scripted([STEMS, BROKEN], [BOTH])
    search(collection, tmp_path / "run", proposer, iterations=2)
    split = make_split(collection, 0)
    for state in proposer.states:
        assert set(state.collection.queries) == set(state.collection.qrels) == set(split.validation)
        assert set(state.evaluation.scores) == set(split.validation)
    first, second = proposer.states
    assert first.history == ()
    assert [outcome.adopted for outcome in second.history] == [True, False]
    assert "ZeroDivisionError" in second.history[1].error
    assert second.history[0].fixed
    assert not second.history[0].broken
    assert second.incumbent.source == candidate(STEMS).source


def test_held_out_queries_are_scored_once_for_each_of_two_programs(collection, tmp_path, monkeypatch):
    asked = []
    original = Evaluator.evaluate

    def spy(self, program, queries, **options):
        asked.append((program.sha256, tuple(queries)))
        return original(self, program, queries, **options)

    monkeypatch.setattr(Evaluator, "evaluate", spy)
    result, _ = search(collection, tmp_path / "run", Scripted([STEMS], [BOTH]), iterations=2)
    held_out = make_split(collection, 0).held_out
    touched = [program for program, queries in asked if set(queries) & set(held_out)]
    assert touched == [builtin_program("full_document").sha256, result.program_sha256]
    assert [queries for _, queries in asked[:-2]] == [make_split(collection, 0).validation] * 3


def test_a_program_that_was_evaluated_is_not_run_again(collection, tmp_path):
    result, events = search(collection, tmp_path / "run", Scripted([SAME], [SAME]), iterations=2)
    assert result.evaluated == 2
    assert sum(isinstance(event, CandidateTried) for event in events) == 2


def test_everything_is_written_down(collection, tmp_path):
    out = tmp_path / "run"
    result, events = search(collection, out, Scripted([STEMS, BROKEN]))
    assert read_result(out) == result
    run = json.loads((out / "run.json").read_text())
    assert run["fingerprint"] == collection.fingerprint
    assert run["settings"]["proposer"] == "scripted"
    records = journal(out)
    kinds = [record["record"] for record in records]
    tried = ["candidate", "evaluation", "candidate", "failure"]
    assert kinds == ["evaluation", "proposal", *tried, "checked", "decision", "held-out", "held-out"]
    assert set(records[3]["metrics"]) == set(METRICS)
    assert records[-3]["adopted"] == result.program_sha256
    for record in records:
        if "program" in record:
            source = (out / "programs" / f"{record['program']}.py").read_text()
            assert Program(source).sha256 == record["program"]
    assert [type(e) for e in events if isinstance(e, BaselineEvaluated | IterationEnded)] == [
        BaselineEvaluated,
        IterationEnded,
    ]


def test_differences_are_paired_and_have_an_interval(collection, tmp_path):
    result, _ = search(collection, tmp_path / "run", Scripted([STEMS]))
    difference = result.differences["recall@100"]
    expected = result.learned.held_out["recall@100"] - result.baseline.held_out["recall@100"]
    assert difference.mean == pytest.approx(expected)
    assert difference.low <= difference.mean <= difference.high
    assert 0 <= difference.p_value <= 1


def test_an_existing_run_is_refused_unless_forced(collection, tmp_path):
    out = tmp_path / "run"
    search(collection, out, Scripted([]))
    before = (out / "result.json").read_bytes()
    with pytest.raises(RunError, match="--force"):
        search(collection, out, Scripted([]))
    assert (out / "result.json").read_bytes() == before
    search(collection, out, Scripted([STEMS]), force=True)
    assert read_result(out).adopted == 1


def test_bad_input_leaves_no_run_folder(tmp_path, folder):
    with pytest.raises(CollectionError):
        optimize(tmp_path / "nowhere", tmp_path / "run")
    with pytest.raises(CollectionError):
        optimize(folder, tmp_path / "run", split=tmp_path / "no_split.json")
    assert not (tmp_path / "run").exists()


def test_a_forced_run_that_fails_or_is_interrupted_puts_the_old_run_back(collection, tmp_path):
    class Interrupted(Scripted):
        def propose(self, state):
            raise KeyboardInterrupt

    out = tmp_path / "run"
    search(collection, out, Scripted([STEMS]))
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    with pytest.raises(KeyboardInterrupt):
        search(collection, out, Interrupted(), force=True)
    with pytest.raises(BackendError):
        optimize(collection, out, settings=SearchSettings(backend="no-such-engine"), force=True)
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_search_ends_when_every_relevant_document_is_found(collection, tmp_path):
    few = replace(collection, documents=collection.documents[:90])
    result, events = search(few, tmp_path / "run", Scripted([SAME], [SAME], [SAME]), iterations=3)
    assert result.baseline.validation["recall@100"] < 1
    assert sum(isinstance(event, IterationEnded) for event in events) == 3
    first = few.documents[0]
    every = replace(
        few,
        qrels={q: {first.doc_id: 1} for q in few.queries},
        queries={q: f"{first.text} {q}" for q in few.queries},
    )
    result, events = search(every, tmp_path / "all", Scripted([SAME], [SAME], [SAME]), iterations=3)
    assert result.baseline.validation["recall@100"] == 1
    assert sum(isinstance(event, IterationEnded) for event in events) == 0
    assert "There was nothing to search for: the Recall@100 on the validation queries is 1" in result.notes[-1]
    assert result.program_sha256 == builtin_program("full_document").sha256


def test_a_baseline_that_fails_leaves_no_run_folder(collection, tmp_path):
    with pytest.raises(BackendError):
        optimize(collection, tmp_path / "run", settings=SearchSettings(backend="no-such-engine"))
    assert not (tmp_path / "run").exists()


def test_the_built_in_proposer_learns_word_forms_twice_the_same(folder, tmp_path):
    results = [optimize(folder, tmp_path / name, settings=SearchSettings(iterations=2)) for name in ("a", "b")]
    first, second = results
    assert first.adopted >= 1
    assert first.learned.held_out["recall@100"] > first.baseline.held_out["recall@100"]
    assert (first.program_sha256, first.component_sha256) == (second.program_sha256, second.component_sha256)
    assert first.learned == second.learned
    assert first.differences == second.differences
    assert (
        "add_forms" in load_frozen(first.frozen).program.source
        or "add_missing_forms" in load_frozen(first.frozen).program.source
    )


def test_a_program_whose_output_changes_somewhere_in_the_corpus_is_not_adopted(collection, tmp_path):
    """The sample that every candidate is checked on does not meet the document; the whole corpus does."""
    late = f"{BOTH} + (str(hash(doc.text)) if doc.text == {collection.documents[-1].text!r} else '')"
    result, events = search(collection, tmp_path / "run", Scripted([late, MORE_STEMS]))
    tried = [event.outcome for event in events if isinstance(event, CandidateTried)]
    assert tried[0].gain > tried[1].gain > 0
    [ended] = [event for event in events if isinstance(event, IterationEnded)]
    assert ended.adopted.candidate == tried[1].candidate
    [failure] = [record for record in journal(tmp_path / "run") if record["record"] == "failure"]
    assert failure["program"] == tried[0].candidate.sha256
    last = next(d.doc_id for d in collection.documents if d.text == collection.documents[-1].text)
    assert f"changes with ids, batch, order, hash seed or time; the first is {last}: " in failure["error"]
    assert " became " in failure["error"]
    assert result.adopted == 1


def test_a_program_that_learns_something_else_every_time_is_not_adopted(collection, tmp_path):
    source = PROGRAM.format(expression=STEMS)
    source += "    def calibrate(self, docs):\n        return {'n': hash('x')}\n"

    class Learning(Scripted):
        def propose(self, state):
            return [Candidate(source, "learns its hash seed")]

    result, _ = search(collection, tmp_path / "run", Learning())
    assert result.adopted == 0
    assert "calibrate learned something else" in (tmp_path / "run" / "journal.jsonl").read_text()


def test_the_layers_in_force_are_stated_in_every_result(collection, tmp_path):
    result, _ = search(collection, tmp_path / "full", Scripted())
    assert "self-test" in result.isolation
    assert load_frozen(tmp_path / "full" / "frozen").manifest.isolation == result.isolation
    assert json.loads((tmp_path / "full" / "run.json").read_text())["isolation"] == result.isolation
    settings = SearchSettings(iterations=0, isolation="process-only")
    weaker = optimize(collection, tmp_path / "weaker", settings=settings, proposer=Scripted())
    assert not any("seccomp" in layer for layer in weaker.isolation)


def test_a_machine_without_isolation_ends_the_search_and_is_no_fault_of_a_candidate(collection, tmp_path, monkeypatch):
    def unavailable(*_, **__):
        raise SandboxUnavailable("no")

    class Late(Scripted):
        def propose(self, state):
            monkeypatch.setattr(runner, "checked_layers", unavailable)
            return super().propose(state)

    with pytest.raises(SandboxUnavailable):
        search(collection, tmp_path / "run", Late([STEMS]))


class Asking(Scripted):
    """Asks why documents are missed before it suggests what the test says."""

    def propose(self, state):
        self.misses = [*getattr(self, "misses", []), {(m.query_id, m.doc_id) for m in state.diagnosis().misses()}]
        return super().propose(state)


def test_the_proposer_can_ask_why_the_incumbent_misses_documents(collection, tmp_path):
    proposer = Asking([STEMS], [])
    search(collection, tmp_path / "run", proposer, iterations=2)
    for state, misses in zip(proposer.states, proposer.misses, strict=True):
        found = {query: {doc for doc, _ in ranking} for query, ranking in state.evaluation.rankings.items()}
        relevant = {(query, doc) for query, grades in state.collection.qrels.items() for doc, g in grades.items() if g}
        assert misses == {(query, doc) for query, doc in relevant if doc not in found[query]}
    assert len(proposer.misses[1]) < len(proposer.misses[0])


def test_a_result_tells_what_its_gain_is_worth(collection, tmp_path):
    result, events = search(collection, tmp_path / "run", Scripted([STEMS, MORE_STEMS, SAME]))
    gain, difference = result.gain, result.differences["recall@100"]
    [baseline] = [event for event in events if isinstance(event, BaselineEvaluated)]
    assert (gain.objective, gain.acceptance) == ("recall@100", "paper")
    assert gain.detectable == baseline.detectable > 0
    validation = result.learned.validation["recall@100"] - result.baseline.validation["recall@100"]
    assert gain.validation == pytest.approx(validation)
    assert gain.corrected < gain.validation
    assert (gain.held_out, gain.low, gain.high, gain.p_value) == pytest.approx(
        (difference.mean, difference.low, difference.high, difference.p_value)
    )
    assert 0 < gain.p_sign_flip <= 1
    frozen = load_frozen(result.frozen)
    assert frozen.manifest.gain == gain
    card = (frozen.path / "README.md").read_text()
    for figure in (gain.held_out, gain.low, gain.high, gain.validation, gain.corrected):
        assert f"{figure:+.4f}" in card
    assert "10 validation queries are few" in " ".join(result.notes)


def test_the_guarded_rule_adopts_what_is_certain_and_refuses_what_may_be_luck(collection, tmp_path):
    proposer = Scripted([SAME, BOTH], [f"{BOTH} + ' filler1'"])
    result, _ = search(collection, tmp_path / "run", proposer, iterations=2, acceptance="guarded")
    assert result.program_sha256 == candidate(BOTH).sha256
    first, second = (r for r in journal(tmp_path / "run") if r["record"] == "decision")
    assert [verdict["accepted"] for verdict in first["verdicts"]] == [True]
    assert not any(verdict["accepted"] for verdict in second["verdicts"])
    narrow = replace(SearchSettings(iterations=1), max_growth=1.01)
    grown = optimize(collection, tmp_path / "narrow", settings=narrow, proposer=Scripted([BOTH]))
    assert grown.adopted == 0
    [decision] = [r for r in journal(tmp_path / "narrow") if r["record"] == "decision"]
    assert "times the corpus, at most 1.01" in decision["verdicts"][0]["reason"]


@pytest.mark.parametrize("objective", ["ndcg@10", "weighted"])
def test_gains_are_those_of_the_objective(collection, tmp_path, objective):
    result, events = search(collection, tmp_path / "run", Scripted([BOTH]), objective=objective)
    [tried] = [event.outcome for event in events if isinstance(event, CandidateTried)]
    before, after = result.baseline.validation, result.learned.validation

    def value(figures):
        return figures["ndcg@10"] if objective == "ndcg@10" else (figures["ndcg@10"] + figures["recall@100"]) / 2

    assert tried.gain == pytest.approx(value(after) - value(before))
    assert result.gain.objective == objective
    assert result.gain.validation == pytest.approx(tried.gain)
