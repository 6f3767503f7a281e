"""Corpus, queries and judgments joined: ids, titles, metadata, what is missing or left out."""

import gzip

import pytest

from autoindex_haystack.collection import load_collection, load_corpus, read_queries
from autoindex_haystack.errors import CollectionError


def test_a_small_collection_is_read_in_the_order_of_its_files(write):
    collection = load_collection(write())
    assert collection.name == "small"
    assert collection.document_ids == ["0001", "0002", "0003"]
    assert [document.text for document in collection.documents][1] == "A cold engine starts slowly."
    assert list(collection.queries) == ["q1", "q2", "q3"]
    assert collection.qrels == {"q1": {"0001": 2}, "q2": {"0002": 1}, "q3": {"0003": 1}}
    assert collection.notes() == []


def test_a_relative_folder_gives_the_collection_its_real_name(write, monkeypatch):
    monkeypatch.chdir(write())
    assert load_collection(".").name == "small"


@pytest.mark.parametrize(
    ("spoiled", "message"),
    [
        ('{"text": "x"}', 'line 2: the field "_id" is missing'),
        ('{"_id": null, "text": "x"}', 'line 2: the field "_id" is missing'),
        ('{"_id": "", "text": "x"}', 'line 2: the field "_id" is empty'),
        ('{"_id": 7, "text": "x"}', 'line 2: the field "_id" must be a string, this is a number; write "7" in quotes'),
        ('{"_id": true, "text": "x"}', 'line 2: the field "_id" must be a string, this is a boolean$'),
        ('{"_id": ["7"], "text": "x"}', 'line 2: the field "_id" must be a string, this is a list$'),
        ('{"_id": "first", "text": "x"}', "line 2: the id 'first' was used before, on line 1"),
        ('{"_id": "7"}', 'line 2: the field "text" is missing'),
        ('{"_id": "7", "text": null}', 'line 2: the field "text" is missing'),
        ('{"_id": "7", "text": {"a": 1}}', 'line 2: the field "text" must be a string, this is an object$'),
    ],
)
def test_a_record_without_a_proper_id_or_text_is_refused_in_corpus_and_queries(write, spoiled, message):
    lines = '{"_id": "first", "text": "good"}\n' + spoiled + "\n"
    with pytest.raises(CollectionError, match=rf"corpus\.jsonl, {message}"):
        load_collection(write(corpus=lines))
    with pytest.raises(CollectionError, match=rf"queries\.jsonl, {message}"):
        load_collection(write(queries=lines, name="other"))


@pytest.mark.parametrize("title", ["5", "[]", "true"])
def test_a_title_that_is_no_string_is_refused(write, title):
    with pytest.raises(CollectionError, match='line 1: the field "title" must be a string'):
        load_collection(write(corpus=f'{{"_id": "1", "title": {title}, "text": "x"}}'))


def test_metadata_that_is_no_object_is_refused(write):
    with pytest.raises(CollectionError, match='line 1: the field "metadata" must be an object'):
        load_collection(write(corpus='{"_id": "1", "text": "x", "metadata": "y"}'))


def test_ids_are_strings_end_to_end(write):
    qrels = "q\t0001\t1\nq\t01\t1\nq\t1.0\t1\n"
    corpus = [{"_id": name, "text": "x"} for name in ("0001", "01", "1.0", "１")]
    collection = load_collection(write(corpus=corpus, queries=[{"_id": "q", "text": "x"}], qrels=qrels))
    assert collection.document_ids == ["0001", "01", "1.0", "１"]
    assert collection.qrels == {"q": {"0001": 1, "01": 1, "1.0": 1}}


def test_a_title_is_the_corpus_s_own_or_that_of_the_metadata(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text(
        '{"_id": "1", "title": "Own", "text": "", "metadata": {"title": "Other", "path": "a"}}\n'
        '{"_id": "2", "title": "", "text": "", "metadata": {"title": "Other"}}\n'
        '{"_id": "3", "title": null, "text": "", "metadata": {"title": 3}}\n'
        '{"_id": "4", "text": "", "metadata": null}\n'
    )
    assert [document.metadata for document in load_corpus(path)] == [{"title": "Own"}, {"title": "Other"}, {}, {}]


def test_programs_see_only_the_metadata_that_was_named(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text(
        '{"_id": "1", "text": "", "metadata": {"year": 1999, "has_answers": true, "tags": ["a", {"b": null}]}}\n'
        '{"_id": "2", "text": "", "metadata": {"has_answers": false}}\n'
    )
    assert [document.metadata for document in load_corpus(path)] == [{}, {}]
    named = load_corpus(path, metadata_fields=["year", "tags"])
    assert [document.metadata for document in named] == [{"year": 1999, "tags": ["a", {"b": None}]}, {}]


def test_a_metadata_field_that_no_document_has_is_refused(write):
    with pytest.raises(CollectionError, match="no document has the metadata field 'yaer'; check --metadata-fields"):
        load_collection(write(), metadata_fields=["yaer"])


def test_the_title_may_be_named_as_a_metadata_field(write):
    collection = load_collection(write(), metadata_fields=["title"])
    assert [document.metadata for document in collection.documents] == [{"title": "Wings"}, {}, {}]


def test_documents_may_be_empty(write):
    collection = load_collection(write(corpus=[{"_id": "0001", "text": ""}]))
    assert collection.documents[0].text == ""


@pytest.mark.parametrize("content", ["", "\n \n", "\ufeff"])
def test_an_empty_corpus_and_an_empty_query_file_are_refused(write, content):
    with pytest.raises(CollectionError, match=r"corpus\.jsonl has no documents"):
        load_collection(write(corpus=content))
    with pytest.raises(CollectionError, match=r"queries\.jsonl has no queries"):
        load_collection(write(queries=content, name="other"))


def test_missing_files_are_named(write, tmp_path):
    for part, name in (("corpus", "corpus.jsonl"), ("queries", "queries.jsonl"), ("qrels", "judgments")):
        with pytest.raises(CollectionError, match=rf"has no {name}"):
            load_collection(write(**{part: None}, name=f"without-{part}"))
    with pytest.raises(CollectionError, match="`autoindex make-queries`"):
        load_collection(write(queries=None, name="unasked"))
    with pytest.raises(CollectionError, match="is no folder"):
        load_collection(tmp_path / "nothing")


def test_a_file_that_is_there_plain_and_compressed_is_refused(write):
    folder = write()
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(CollectionError, match=r"has both corpus\.jsonl and corpus\.jsonl\.gz"):
        load_collection(folder)


def test_unknown_documents_stay_in_the_denominator_and_are_reported(write):
    collection = load_collection(write(qrels="q1\t0001\t1\nq1\tgone\t1\nq2\tlost\t1\nq3\t0003\t1\nq3\tdull\t0\n"))
    assert collection.qrels["q1"] == {"0001": 1, "gone": 1}
    assert collection.qrels["q2"] == {"lost": 1}
    assert collection.missing_documents == ("gone", "lost")
    assert collection.notes() == ["2 relevant documents are not in the corpus; they count as not found."]


def test_queries_without_a_relevant_document_and_unknown_queries_are_left_out_and_reported(write):
    collection = load_collection(write(qrels="q1\t0001\t1\nq2\t0002\t0\nq9\t0001\t1\nq8\t0001\t1\n"))
    assert list(collection.queries) == list(collection.qrels) == ["q1"]
    assert collection.unjudged_queries == ("q2", "q3")
    assert collection.unknown_queries == ("q8", "q9")
    assert collection.notes() == [
        "2 queries have no relevant document and are left out.",
        "2 judged queries are not in the query file and are left out.",
    ]


@pytest.mark.parametrize("qrels", ["q1\t0001\t0\n", "q1\t0001\t-1\n", "Q1\t0001\t1\n", "query-id\tcorpus-id\tscore\n"])
def test_a_collection_without_any_judged_query_is_refused(write, qrels):
    with pytest.raises(CollectionError, match="no query has a relevant document"):
        load_collection(write(qrels=qrels))


def test_the_fingerprint_tells_collections_apart_and_nothing_else(write, documents):
    first = load_collection(write()).fingerprint
    assert load_collection(write(name="copy")).fingerprint == first
    documents[2]["text"] += "!"
    others = [
        load_collection(write(corpus=documents, name="text")),
        load_collection(write(qrels="q1\t0001\t1\nq2\t0002\t1\nq3\t0003\t1\n", name="grade")),
        load_collection(write(queries=[{"_id": "q1", "text": "ice"}], name="queries")),
    ]
    assert len({first, *(other.fingerprint for other in others)}) == 4


def test_progress_is_told_while_a_corpus_is_read(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(f'{{"_id": "{i}", "text": ""}}\n' for i in range(4_500)))
    told = []
    load_corpus(path, progress=told.append)
    assert told == [2_000, 4_000]


def test_queries_alone_can_be_read(write):
    assert read_queries(write() / "queries.jsonl")["q2"] == "cold start"
