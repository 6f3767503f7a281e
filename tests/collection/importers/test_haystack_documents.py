import json

import pytest
from haystack import Document

from autoindex_haystack.collection.importers import write_collection
from autoindex_haystack.collection.importers.haystack_documents import haystack_source
from autoindex_haystack.errors import CollectionError

DOCUMENTS = [
    Document(id="1", content="steep it", meta={"title": "Tea", "page": 3}, embedding=[0.5], score=2.0),
    Document(id="2", content=None, meta={}),
]


@pytest.mark.parametrize("flatten", [True, False])
@pytest.mark.parametrize("lines", [True, False])
def test_saved_documents_are_read(tmp_path, imported, flatten, lines):
    records = [document.to_dict(flatten=flatten) for document in DOCUMENTS]
    text = "\n".join(map(json.dumps, records)) if lines else json.dumps(records, indent=1)
    (tmp_path / "documents.json").write_text(text)
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "tea"}\n')
    (tmp_path / "qrels.tsv").write_text("q\t1\t1\n")
    source = haystack_source(tmp_path / "documents.json", tmp_path / "queries.jsonl", tmp_path / "qrels.tsv")
    collection = imported(source, metadata_fields=["page"])
    assert [(d.doc_id, d.text, d.metadata) for d in collection.documents] == [
        ("1", "steep it", {"title": "Tea", "page": 3}),
        ("2", "", {}),
    ]
    assert collection.qrels == {"q": {"1": 1}}


def test_without_questions_only_the_corpus_is_written_and_said_so(tmp_path):
    (tmp_path / "documents.json").write_text(json.dumps([DOCUMENTS[0].to_dict()]))
    imported = write_collection(haystack_source(tmp_path / "documents.json"), tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["README.md", "corpus.jsonl"]
    assert "make-queries" in imported.notes[0]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[{"id": "1", "content": "a"}, {"content": "b"}]', "entry 2: the Document has no id"),
        ('{"id": "1", "content": "a"}\n{"id": "2", "content": 3}', "line 2: the content of Document '2' is no text"),
        ('[{"id": "1"', "broken JSON"),
        ("[3]", "entry 1: it is no Document"),
    ],
)
def test_a_broken_file_is_named_with_the_place(tmp_path, text, named):
    (tmp_path / "documents.json").write_text(text)
    with pytest.raises(CollectionError, match=named):
        write_collection(haystack_source(tmp_path / "documents.json"), tmp_path / "out")


def test_queries_and_judgments_belong_together(tmp_path):
    (tmp_path / "documents.json").write_text(json.dumps([DOCUMENTS[0].to_dict()]))
    with pytest.raises(CollectionError, match="belong together"):
        haystack_source(tmp_path / "documents.json", queries=tmp_path / "queries.jsonl")
