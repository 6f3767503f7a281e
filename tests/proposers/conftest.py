"""A collection on which other word forms are what helps, with everything that a forecast needs."""

from dataclasses import dataclass
from typing import Any

import pytest

from autoindex_haystack.collection import Collection, Document
from autoindex_haystack.evaluation import Evaluator
from autoindex_haystack.proposers import CollectionView

VERBS = "paint walk plant count start mount print repair collect inspect extend protect report select".split()


def make_collection() -> Collection:
    documents = []
    for i, verb in enumerate(VERBS):
        filler = [" ".join(f"filler{(7 * i + 3 * n + k) % 40}" for k in range(9)) for n in range(10)]
        documents += [Document(f"{verb}-{f}", f"{filler[0]} {verb}{f} {filler[1]}") for f in ("ing", "ed", "s")]
        documents += [Document(f"{verb}-x{n}", f"{filler[n]} {verb}{('ing', 'ed')[n % 2]} other{n}") for n in range(9)]
        documents += [Document(f"{verb}-y{n}", f"{verb} other{n} filler{i}") for n in range(9)]
    documents += [Document(f"z{n}", " ".join(f"filler{(n + k) % 40}" for k in range(9))) for n in range(150)]
    queries = {f"q{i}": f"filler{i} filler{i + 9} {verb}" for i, verb in enumerate(VERBS)}
    qrels = {f"q{i}": {f"{verb}-{f}": n + 1 for n, f in enumerate(("ing", "ed", "s"))} for i, verb in enumerate(VERBS)}
    return Collection(name="forms", documents=documents, queries=queries, qrels=qrels)


@dataclass
class Bench:
    """A collection with its evaluator."""

    collection: Any
    evaluator: Any
    view: Any


@pytest.fixture(scope="session")
def bench():
    collection = make_collection()
    with Evaluator(collection) as evaluator:
        view = CollectionView(collection.documents, collection.queries, collection.qrels, "bm25s")
        yield Bench(collection, evaluator, view)
