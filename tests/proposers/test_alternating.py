"""Two proposers take turns; each is told what the other tried, and one goes on when the other cannot."""

from types import SimpleNamespace

import pytest

from autoindex_haystack.llm import Recorded
from autoindex_haystack.proposers import Candidate, SearchEnded
from autoindex_haystack.proposers.agents import AgentSettings
from autoindex_haystack.proposers.alternating import AlternatingProposer
from autoindex_haystack.proposers.factory import make_proposer


class Scripted:
    """Suggests what it was given, one answer an iteration, and notes what it was asked."""

    def __init__(self, name, *answers):
        self.name = name
        self.answers = list(answers)
        self.asked = []

    def propose(self, state):
        self.asked.append(state.iteration)
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        return [Candidate(source, "x") for source in answer]

    def combine(self, state, improvements):
        return Candidate(f"{self.name} joins", "x")


def play(proposer, iterations):
    states = [SimpleNamespace(iteration=iteration) for iteration in range(1, iterations + 1)]
    return [[(found.source, found.proposer) for found in proposer.propose(state)] for state in states]


def test_they_take_turns_and_who_suggested_joins():
    one, two = Scripted("one", ["a"], ["c"]), Scripted("two", ["b"])
    both = AlternatingProposer(one, two)
    assert play(both, 3) == [[("a", "one")], [("b", "two")], [("c", "one")]]
    assert (one.asked, two.asked) == ([1, 3], [2])
    joined = both.combine(None, [])
    assert (joined.source, joined.proposer) == ("one joins", "one")


def test_when_one_gives_nothing_or_cannot_go_on_the_other_has_the_turn():
    one, two = Scripted("one", [], SearchEnded("broken")), Scripted("two", ["a"], ["b"], ["c"], ["d"])
    both = AlternatingProposer(one, two)
    assert play(both, 4) == [[(source, "two")] for source in "abcd"]
    assert one.asked == [1, 3]
    assert both.notes() == ["The proposer one ended early: broken."]


def test_when_neither_can_go_on_or_a_limit_holds_for_both_the_search_ends():
    both = AlternatingProposer(Scripted("one", SearchEnded("broken")), Scripted("two", SearchEnded("tired")))
    with pytest.raises(SearchEnded, match="broken; tired"):
        play(both, 1)
    two = Scripted("two", ["a"])
    with pytest.raises(SearchEnded, match="no money"):
        play(AlternatingProposer(Scripted("one", SearchEnded("no money", for_all=True)), two), 1)
    assert two.asked == []


def test_the_agents_have_the_first_iteration_so_that_one_iteration_asks_the_model(tmp_path):
    both = make_proposer("both", lambda: Recorded(None, tmp_path / "x"), AgentSettings())
    assert [proposer.name for proposer in both._proposers] == ["agents", "builtin"]
