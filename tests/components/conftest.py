"""What the tests of the Haystack components share: programs frozen on the spot, and both document stores."""

from collections.abc import Callable
from pathlib import Path

import pytest

from autoindex_haystack.frozen import ComponentSettings, FrozenComponent, new_manifest, write_frozen
from autoindex_haystack.program import Program, builtin_program
from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore, LuceneDocumentStore

SENTENCES = """
from autoindex_haystack.program import BasePreprocessor, Chunk


class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        chunks = []
        for doc in docs:
            for i, sentence in enumerate(filter(None, map(str.strip, doc.text.split(".")))):
                text = f"{doc.metadata.get('title', '')} {sentence}".strip()
                chunks.append(Chunk(f"{doc.doc_id}_{i}", doc.doc_id, text, {"sentence": i}))
        return chunks
"""
"""A chunk a sentence, with the title before it; each says which sentence it is. No chunk for a text without a word."""

Freeze = Callable[..., FrozenComponent]
StoreClass = type[Bm25sDocumentStore] | type[LuceneDocumentStore]


@pytest.fixture
def freeze(tmp_path: Path) -> Freeze:
    """Freeze a program, given as source or by its built-in name, and give the component."""

    def write(source: str = SENTENCES, *, name: str = "frozen", **settings: object) -> FrozenComponent:
        program = builtin_program(source) if "\n" not in source else Program(source)
        manifest = new_manifest(program, {}, ComponentSettings.model_validate(settings))
        return write_frozen(tmp_path / name, manifest, program, {})

    return write


@pytest.fixture(params=[Bm25sDocumentStore, LuceneDocumentStore], ids=["bm25s", "lucene"])
def store_class(request: pytest.FixtureRequest) -> StoreClass:
    """Each of the two document stores."""
    chosen: StoreClass = request.param
    return chosen
