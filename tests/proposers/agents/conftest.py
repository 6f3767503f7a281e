"""The agents on a scripted server: one proposal, or a whole search, over the collection of the optimizer's tests."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from autoindex_haystack import optimize
from autoindex_haystack.collection import make_split
from autoindex_haystack.evaluation import Evaluator
from autoindex_haystack.llm import EXCHANGES, Recorded
from autoindex_haystack.llm.openai_chat import OpenAIChat
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.program import builtin_program, check_source
from autoindex_haystack.proposers import Candidate, CollectionView, ProposerState
from autoindex_haystack.proposers.agents import AgentSettings, AgentsProposer
from autoindex_haystack.runs import RunResult
from tests.chat_server import ChatServer
from tests.optimizer.conftest import collection, folder

__all__ = ["collection", "folder"]


@dataclass(frozen=True)
class Asked:
    """What was asked of a server, and what came of it."""

    server: ChatServer
    candidates: Sequence[Candidate] = ()
    notes: Sequence[str] = ()
    result: RunResult | None = None
    out: Path = Path()

    def having(self, *words: str) -> list[dict[str, Any]]:
        """The requests of which the last message has all these words."""
        return [
            request
            for request in self.server.requests
            if all(word in str(request["messages"][-1]["content"]) for word in words)
        ]


def client(server):
    return OpenAIChat("a-model", base_url=server.url, api_key="canary-key-0123456789", backoff=0.001)


@pytest.fixture(scope="session")
def at_first(collection):
    """The state of a search that has the baseline, with a real index to look things up in."""
    split, baseline = make_split(collection, 0), builtin_program("full_document")
    view = CollectionView(
        documents=collection.documents,
        queries={query: collection.queries[query] for query in split.validation},
        qrels={query: collection.qrels[query] for query in split.validation},
        analyzer="bm25s",
    )
    with Evaluator(collection) as evaluator:
        evaluation = evaluator.evaluate(baseline, split.validation)
        lookup, diagnosis = evaluator.look_up(baseline), evaluator.diagnose(baseline, split.validation)
        yield ProposerState(
            seed=0,
            iteration=1,
            number=2,
            collection=view,
            incumbent=baseline,
            evaluation=evaluation,
            baseline=evaluation,
            check=lambda source: [str(problem) for problem in check_source(source)],
            diagnosis=lambda: diagnosis,
            lookup=lambda: lookup,
        )
        lookup.close()


@pytest.fixture
def propose(at_first, tmp_path):
    """Ask for one proposal."""

    def run(script, state=at_first, **settings):
        with ChatServer(script) as server:
            model = Recorded(client(server), tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl")
            proposer = AgentsProposer(model, AgentSettings(**settings))
            candidates = proposer.propose(state)
        return Asked(server, candidates, proposer.notes())

    return run


@pytest.fixture
def search(collection, tmp_path):
    """Do a whole search."""

    def run(script, *, iterations=1, candidates=2, name="run", **settings):
        out = tmp_path / name
        with ChatServer(script) as server:
            proposer = AgentsProposer(Recorded(client(server), out / EXCHANGES), AgentSettings(**settings))
            how = SearchSettings(iterations=iterations, candidates=candidates, acceptance="paper")
            result = optimize(collection, out, settings=how, proposer=proposer)
        return Asked(server, notes=result.notes, result=result, out=out)

    return run


@pytest.fixture
def later(at_first):
    """The state of a later iteration with a history."""

    def make(*history, iteration=2, **changes):
        return replace(at_first, iteration=iteration, history=history, **changes)

    return make
