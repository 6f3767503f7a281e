"""A corpus in one flat file is a sequence of documents like any other, without holding them."""

import copy
import errno
import gc
import json
import os
import pickle
import resource
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.collection import Collection, Corpus, Document, ids_of, load_corpus
from autoindex_haystack.errors import CollectionError, SandboxError
from autoindex_haystack.program import builtin_program
from autoindex_haystack.sandbox import DocumentFile, ProgramRunner

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
DOCUMENTS = st.lists(
    st.builds(Document, st.text(), st.text(), st.dictionaries(st.text(), VALUES, max_size=3)), max_size=8
)


@given(DOCUMENTS, st.slices(8), st.integers(-9, 9))
def test_it_is_a_sequence_of_the_documents_it_was_given(documents, part, i):
    corpus = Corpus(iter(documents))
    assert list(corpus) == documents
    assert corpus == documents
    assert len(corpus) == len(documents)
    assert corpus[part] == documents[part]
    assert list(reversed(corpus)) == documents[::-1]
    assert ids_of(corpus) == ids_of(documents) == [document.doc_id for document in documents]
    assert corpus.layout.sizes.tolist() == [
        len(d.text.encode()) + (len(json.dumps(d.metadata)) if d.metadata else 0) for d in documents
    ]
    if -len(documents) <= i < len(documents):
        assert corpus[i] == documents[i]
    else:
        with pytest.raises(IndexError):
            corpus[i]


def test_a_collection_is_the_same_whether_its_documents_are_a_list_or_a_corpus():
    documents = [Document("1", "zwölf", {"title": "T", "n": 1.5}), Document("2", "")]
    one, other = (Collection("c", given, {"q": "x"}, {"q": {"1": 1}}) for given in (documents, Corpus(documents)))
    assert one.fingerprint == other.fingerprint
    assert one.document_ids == other.document_ids
    assert one == other


def test_a_document_that_was_changed_does_not_change_the_corpus():
    corpus = Corpus([Document("1", "text", {"title": "T"})])
    corpus[0].metadata["title"] = "changed"
    assert corpus[0].metadata == {"title": "T"}


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda corpus: pickle.loads(pickle.dumps(corpus))])
def test_it_can_be_copied_and_sent(copied):
    corpus = Corpus([Document("1", "text", {"title": "T"})])
    other = copied(corpus)
    assert other == corpus
    assert other.fileno() != corpus.fileno()


def test_reading_holds_no_documents(tmp_path):
    """Only the ids are in memory, and where the documents stand."""
    path = tmp_path / "corpus.jsonl"
    text = "some words " * 200
    path.write_text("".join(json.dumps({"_id": str(i), "title": "t", "text": text}) + "\n" for i in range(5_000)))
    tracemalloc.start()
    corpus = load_corpus(path)
    assert sum(len(document.text) for document in corpus) == 5_000 * len(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < path.stat().st_size / 4


def test_workers_read_the_corpus_s_own_file():
    corpus = Corpus([Document("1", "eins", {"title": "T"}), Document("2", "zwei")])
    with DocumentFile(corpus) as file, ProgramRunner(builtin_program("full_document"), file) as runner:
        assert file.fileno() == corpus.fileno()
        assert list(runner.run().chunks.texts) == ["T\neins", "zwei"]
        with pytest.raises(SandboxError, match="cannot be written"):
            file.write([])
    assert corpus[1].text == "zwei"


def test_nothing_is_left_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    corpus = Corpus([Document("1", "text")])
    assert list(tmp_path.iterdir()) == []
    del corpus
    with pytest.raises(ValueError, match="surrogates"):
        Corpus([Document("1", "\ud800")])
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_disk_without_room_is_told_and_what_can_be_done():
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(CollectionError, match=r"cannot be kept in .*File too large.*set TMPDIR"):
            Corpus([Document("1", "text" * 10_000)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_an_error_of_the_source_stays_what_it_is():
    def broken():
        yield Document("1", "text")
        raise OSError(errno.EIO, "Input/output error", "corpus.jsonl")

    with pytest.raises(OSError, match=r"corpus\.jsonl"):
        Corpus(broken())
