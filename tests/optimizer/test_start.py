"""A search can start from a program learned elsewhere; gains are told against the full documents all the same."""

import json
from dataclasses import replace

import pytest

from autoindex_haystack import load_frozen, optimize
from autoindex_haystack.errors import ProgramError
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.optimizer.replay import replay
from autoindex_haystack.proposers import Candidate
from autoindex_haystack.runs import read_info, read_result

ADDS = """
from autoindex_haystack.program import BasePreprocessor, Chunk

class Preprocessor(BasePreprocessor):
    def calibrate(self, docs):
        return {{"documents": sum(1 for _ in docs)}}

    def preprocess(self, docs):
        assert self.state["documents"] > 10
        return [Chunk("0", doc.doc_id, doc.text + " " + " ".join(
            w[: -len(end)] for end in {endings} for w in doc.text.split() if w.endswith(end))) for doc in docs]
"""
ONE, TWO = ADDS.format(endings='["ing"]'), ADDS.format(endings='["ing", "ed"]')
NOTHING = ADDS.format(endings="[]").replace("doc.text +", '"nothing" +')
SETTINGS = SearchSettings(iterations=1, candidates=2, acceptance="paper")


class Suggests:
    """Suggests these programs in the first iteration."""

    name = "scripted"

    def __init__(self, *sources):
        self._sources = sources

    def propose(self, state):
        self.state = state
        return [Candidate(source, "an idea") for source in self._sources]

    def combine(self, state, improvements):
        return None


@pytest.fixture
def start(tmp_path):
    (tmp_path / "one.py").write_text(ONE)
    return tmp_path / "one.py"


def search(collection, out, start, *sources, settings=SETTINGS):
    proposer = Suggests(*sources)
    return optimize(collection, out, settings=settings, proposer=proposer, start=start), proposer


def test_candidates_are_compared_with_the_start_and_the_gain_is_told_against_the_full_documents(
    collection, tmp_path, start
):
    plain, _ = search(collection, tmp_path / "plain", None)
    result, proposer = search(collection, tmp_path / "run", start, TWO)
    state = proposer.state
    assert state.incumbent.source == ONE
    assert state.baseline.metrics == plain.baseline.validation
    assert result.baseline == plain.baseline
    frozen = load_frozen(result.frozen)
    steps = frozen.manifest.lineage
    assert [(step.iteration, step.idea) for step in steps] == [
        (0, "the program that the search started from"),
        (1, "an idea"),
    ]
    of_start = state.evaluation.metrics["recall@100"] - result.baseline.validation["recall@100"]
    assert steps[0].gain == pytest.approx(of_start)
    assert of_start > 0
    assert steps[1].gain == pytest.approx(result.gain.validation - of_start)
    assert result.adopted == 1


def test_what_is_worse_than_the_start_is_not_adopted_and_the_start_is_frozen_as_it_learned_here(
    collection, tmp_path, start
):
    (tmp_path / "two.py").write_text(TWO)
    result, _ = search(collection, tmp_path / "run", tmp_path / "two.py", ONE)
    frozen = load_frozen(result.frozen)
    assert (result.adopted, frozen.program.source) == (0, TWO)
    assert frozen.state == {"documents": len(collection.documents)}
    assert result.learned.held_out["recall@100"] > result.baseline.held_out["recall@100"]
    ideas = [point.idea for point in read_result(tmp_path / "run").pareto]
    assert "the program that the search started from" in ideas


def test_a_frozen_component_learns_from_the_corpus_anew(collection, tmp_path, start):
    component = search(collection, tmp_path / "before", start)[0].frozen
    state = tmp_path / "before" / "frozen" / "state.json"
    assert json.loads(state.read_text())["documents"] == len(collection.documents)
    smaller = replace(collection, documents=collection.documents[:40])
    result, _ = search(smaller, tmp_path / "run", component)
    assert load_frozen(result.frozen).state == {"documents": 40}


def test_a_start_that_fails_here_leaves_no_run_folder(collection, tmp_path):
    (tmp_path / "broken.py").write_text(ONE.replace("doc.text +", "1 / 0 +"))
    with pytest.raises(ProgramError, match="ZeroDivisionError"):
        search(collection, tmp_path / "run", tmp_path / "broken.py")
    with pytest.raises(ProgramError, match=r"nowhere\.py"):
        search(collection, tmp_path / "run", tmp_path / "nowhere.py")
    assert not (tmp_path / "run").exists()


def test_a_start_that_is_worse_than_the_full_documents_is_told(collection, tmp_path):
    settings = replace(SETTINGS, limits=replace(SETTINGS.limits, unreachable=1.0))
    (tmp_path / "nothing.py").write_text(NOTHING)
    result, _ = search(collection, tmp_path / "run", tmp_path / "nothing.py", settings=settings)
    assert any("is worse here than the full documents" in note for note in result.notes)


def test_the_built_in_proposer_goes_on_from_a_program_of_its_own(folder, tmp_path):
    first = optimize(folder, tmp_path / "first", settings=replace(SETTINGS, iterations=2, candidates=8))
    assert first.adopted
    settings = replace(SETTINGS, iterations=1, candidates=4)
    second = optimize(folder, tmp_path / "second", settings=settings, start=first.frozen)
    assert read_info(tmp_path / "second").settings.start == first.program_sha256
    assert second.learned.validation["recall@100"] >= first.learned.validation["recall@100"]
    again = replay(folder, tmp_path / "second", tmp_path / "again")
    assert (again.program_sha256, again.learned) == (second.program_sha256, second.learned)
