"""Learning on the documents of a user's own Haystack pipeline, and putting the component back into it."""

import json
from pathlib import Path

import pytest
from haystack import Pipeline
from haystack.components.converters import TextFileToDocument
from haystack.components.preprocessors import DocumentCleaner, DocumentSplitter
from haystack.components.writers import DocumentWriter

from haystack_integrations.components.retrievers.autoindex import RepresentationRetriever
from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore

SMALL = ("--iterations", 1, "--candidates", 1, "--workers", 1)


@pytest.fixture
def files(kitchen) -> Path:
    """The documents of the collection as files; it keeps the queries, judged by the files' names."""
    folder = kitchen.parent / "files"
    folder.mkdir()
    for line in (kitchen / "corpus.jsonl").read_text().splitlines():
        document = json.loads(line)
        (folder / f"{document['_id']}.txt").write_text(f"{document['title']}\n\n\n\n{document['text']}")
    (kitchen / "corpus.jsonl").unlink()
    head, *rows = (kitchen / "qrels.tsv").read_text().splitlines()
    cells = [row.split("\t") for row in rows]
    (kitchen / "qrels.tsv").write_text("\n".join([head, *(f"{q}\t{d}.txt\t{g}" for q, d, g in cells)]) + "\n")
    return folder


@pytest.fixture
def pipeline(tmp_path) -> Path:
    saved = Pipeline()
    saved.add_component("converter", TextFileToDocument())
    saved.add_component("cleaner", DocumentCleaner())
    saved.add_component("splitter", DocumentSplitter(split_by="word", split_length=5))
    saved.add_component("writer", DocumentWriter(Bm25sDocumentStore(str(tmp_path / "store"))))
    for sender, receiver in (("converter", "cleaner"), ("cleaner", "splitter"), ("splitter", "writer")):
        saved.connect(sender, receiver)
    path = tmp_path / "indexing.yaml"
    path.write_text(saved.dumps())
    return path


def test_what_is_learned_on_a_pipelines_documents_goes_back_into_it(kitchen, files, pipeline, out, here, tmp_path):
    given = ("optimize", kitchen, "--corpus-from-pipeline", pipeline, "--files", files, "--wrap", pipeline, *SMALL)
    before = pipeline.read_text()
    done = here(*given, "--out", out / "run", "--json").succeeded()
    assert json.loads(done.out)["wrapped"] == str(out / "run" / "indexing.yaml")
    corpus = [json.loads(line) for line in (kitchen / "corpus.jsonl").read_text().splitlines()]
    assert len(corpus) == 40
    assert corpus[0]["_id"] == "0001.txt"
    assert corpus[0]["text"].startswith("Sourdough starter Mix equal weights")
    assert pipeline.read_text() == before
    assert not (tmp_path / "store").exists()

    wrapped = Pipeline.loads((out / "run" / "indexing.yaml").read_text())
    wrapped.run({"converter": {"sources": sorted(files.iterdir())}})
    wrapped.close()
    found = RepresentationRetriever(Bm25sDocumentStore(str(tmp_path / "store"))).run("sourdough starter")["documents"]
    assert "0001.txt" in [document.meta["file_path"] for document in found]
    # The same once more finds the corpus that it would write.
    here(*given, "--out", out / "run", "--force").succeeded()


def test_another_corpus_is_not_replaced(kitchen, files, pipeline, out, here):
    (kitchen / "corpus.jsonl").write_text('{"_id": "a", "title": "", "text": "mine"}\n')
    given = ("optimize", kitchen, "--corpus-from-pipeline", pipeline, "--files", files, "--out", out / "run", *SMALL)
    here(*given).failed(2, "corpus.jsonl holds another corpus")
    assert "mine" in (kitchen / "corpus.jsonl").read_text()
    assert not (out / "run").exists()


def test_options_that_make_no_sense_together_or_a_file_that_is_no_pipeline_are_refused_at_once(kitchen, out, here):
    here("optimize", kitchen, "--files", kitchen, "--out", out / "run").failed(2, "need each other")
    wrong = ("--wrap", kitchen / "queries.jsonl", "--out", out / "run")
    here("optimize", kitchen, *wrong).failed(2, "is no Haystack pipeline")
