"""A program that leaves something out of the incumbent is adopted when nothing is lost, and only then."""

from dataclasses import replace

import pytest

from autoindex_haystack import optimize
from autoindex_haystack.evaluation import METRICS, Evaluation
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.optimizer.simplify import simplifications
from autoindex_haystack.proposers import Candidate, Outcome
from autoindex_haystack.runs import tell

PROGRAM = """
from autoindex_haystack.program import BasePreprocessor, Chunk

class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        return [Chunk("0", doc.doc_id, doc.text + {added}) for doc in docs]
"""
STEMS = '" " + " ".join(w[:-3] for w in doc.text.split() if w.endswith("ing"))'
INCUMBENT = Evaluation("i", {}, dict.fromkeys(METRICS, 0.5), 10, 1_000, 1.0, (), {}, {})


def outcome(gain=0.0, ndcg=0.5, size=900, simplifies=True):
    metrics = {**INCUMBENT.metrics, "recall@100": 0.5 + gain, "ndcg@10": ndcg}
    evaluation = replace(INCUMBENT, metrics=metrics, chunk_bytes=size)
    return Outcome(2, Candidate(f"# {gain} {ndcg} {size}", "", simplifies=simplifies), evaluation, gain=gain)


@pytest.mark.parametrize(
    "kept", [outcome(), outcome(gain=0.01), outcome(ndcg=0.4995), outcome(ndcg=0.6), outcome(size=1_000)]
)
def test_nothing_lost_is_enough(kept):
    assert simplifications([kept], INCUMBENT) == [kept]


@pytest.mark.parametrize(
    "lost",
    [
        outcome(gain=-0.001),
        outcome(ndcg=0.49),
        outcome(size=1_001),
        outcome(simplifies=False),
        replace(outcome(), evaluation=None),
    ],
)
def test_any_loss_is_too_much(lost):
    assert simplifications([lost], INCUMBENT) == []


def test_the_smallest_index_goes_first():
    small, large = outcome(size=500), outcome(size=800, gain=0.1)
    assert simplifications([large, small], INCUMBENT) == [small, large]


class Shortening:
    """Adds what helps together with what does not, then leaves out one or the other."""

    name = "shortening"

    def propose(self, state):
        both = PROGRAM.format(added=STEMS + ' + " zqzq"')
        rounds = {
            1: [Candidate(both, "both")],
            2: [Candidate(PROGRAM.format(added='" zqzq"'), "useless", simplifies=True)],
            3: [Candidate(PROGRAM.format(added=STEMS), "useful", simplifies=True)],
        }
        return rounds[state.iteration]

    def combine(self, state, improvements):
        return None


def test_a_search_shortens_what_it_has_adopted(collection, tmp_path):
    result = optimize(
        collection, tmp_path / "run", settings=SearchSettings(iterations=3, candidates=1), proposer=Shortening()
    )
    assert result.program_sha256 == Candidate(PROGRAM.format(added=STEMS), "").sha256
    assert [idea for _, idea, _ in tell(tmp_path / "run").adopted] == ["both", "useful"]
