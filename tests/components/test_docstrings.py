"""The examples in the docstrings run as they stand."""

import inspect
import re

import pytest

from haystack_integrations.components.evaluators.autoindex import RankingEvaluator
from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor
from haystack_integrations.components.rankers.autoindex import MaxPAggregator
from haystack_integrations.components.retrievers.autoindex import (
    MaxPRetriever,
    RepresentationRetriever,
    SourceRetriever,
)
from haystack_integrations.components.writers.autoindex import RepresentationIndexer, RepresentationWriter
from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore, LuceneDocumentStore

CLASSES = [
    RepresentationPreprocessor,
    RepresentationIndexer,
    RepresentationWriter,
    MaxPAggregator,
    RepresentationRetriever,
    SourceRetriever,
    MaxPRetriever,
    RankingEvaluator,
    Bm25sDocumentStore,
    LuceneDocumentStore,
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_the_example_of_a_class_runs(cls, freeze, tmp_path, monkeypatch, capsys) -> None:
    freeze(name="my_run/frozen")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", inspect.getdoc(cls) or "", re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], cls.__name__, "exec"), {})
    if "print(" in blocks[0]:
        assert "A heated wing sheds ice." in capsys.readouterr().out
    if cls is RepresentationPreprocessor:
        assert Bm25sDocumentStore(str(tmp_path / "my_index")).count_documents() == 1


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_public_method_says_what_it_takes_and_gives(cls) -> None:
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if name.startswith("_") and name != "__init__":
            continue
        text = inspect.getdoc(method) or ""
        named = set(re.findall(r":param (\w+):", text))
        parameters = set(inspect.signature(method).parameters) - {"self"}
        assert text, name
        assert named == parameters or re.fullmatch(r"Asynchronous :meth:`\w+`\.", text), name
