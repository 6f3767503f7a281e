import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.collection import Document, load_collection, load_split
from autoindex_haystack.collection.importers import Query, Source, write_collection
from autoindex_haystack.errors import CollectionError, RunError

ids = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"),
    min_size=1,
).filter(lambda text: text == text.strip())


def source(documents=("a", "b"), **given):
    return Source("Made up.", [Document(name, f"text of {name}") for name in documents], **given)


@given(texts=st.dictionaries(ids, st.text(), min_size=1), title=st.text())
def test_any_text_is_written_and_read_back(tmp_path_factory, texts, title):
    out = tmp_path_factory.mktemp("any") / "collection"
    first = next(iter(texts))
    documents = [Document(name, text, {"title": title, "page": 3}) for name, text in texts.items()]
    write_collection(Source("Made up.", documents, {"q": Query("why", {first: 2})}), out)
    read = load_collection(out, metadata_fields=["page"])

    def whole(text):
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    assert {document.doc_id: document.text for document in read.documents} == {
        name: whole(text) for name, text in texts.items()
    }
    assert all(document.metadata["page"] == 3 for document in read.documents)
    assert all(document.metadata.get("title", "") == whole(title) for document in read.documents)
    assert read.qrels == {"q": {first: 2}}


def test_the_readme_says_origin_counts_and_what_is_missing(tmp_path):
    queries = {"1": Query("one", {"a": 1, "gone": 1}), "2": Query("two", {"b": 0})}
    imported = write_collection(source(queries=queries), tmp_path / "out")
    readme = (tmp_path / "out" / "README.md").read_text()
    assert readme.startswith("# out\n\nMade up.\n")
    assert "| documents | 2 |\n| queries | 2 |\n| judgments | 2 |" in readme
    assert len(imported.notes) == 2
    assert all(note in readme for note in imported.notes)


def test_documents_are_written_as_they_are_read(tmp_path):
    seen = []

    def documents():
        for number in range(5_000):
            [file] = tmp_path.glob(".out.*/corpus.jsonl")
            seen.append(file.stat().st_size)
            yield Document(str(number), "word " * 20)

    write_collection(Source("Made up.", documents()), tmp_path / "out")
    assert seen[-1] > 400_000


def test_a_partition_becomes_a_split_of_what_is_judged(tmp_path):
    queries = {name: Query(name, {"a": 1}) for name in "123"}
    partition = {"validation": ("1", "unjudged"), "held_out": ("3", "2")}
    imported = write_collection(source(queries=queries, partition=partition), tmp_path / "out")
    split = load_split(tmp_path / "out" / "split.json", load_collection(tmp_path / "out"))
    assert (split.validation, split.held_out) == (("1",), ("3", "2"))
    assert imported.notes == ("Queries of the partition that have no judgment here: 1.",)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (source(documents=()), "no document"),
        (source(documents=("a", "a")), "'a' stands twice"),
        (source(documents=("a", "")), "document 2 has no id"),
        (source(queries={"1": Query("one", {"c": 1})}), "no judged document is in the corpus, for example 'c'"),
        (source(queries={"1": Query("one", {"a\tb": 1, "a": 1})}), "tab"),
        (
            source(queries={"1": Query("one", {"a": 1})}, partition={"validation": ("1",), "held_out": ("2",)}),
            "partition names no judged query",
        ),
    ],
)
def test_what_cannot_be_a_collection_is_refused_and_leaves_nothing(tmp_path, wrong, named):
    with pytest.raises(CollectionError, match=named):
        write_collection(wrong, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_kept_unless_forced(tmp_path):
    write_collection(source(), tmp_path / "out")
    with pytest.raises(RunError, match="--force"):
        write_collection(source(documents=("c",)), tmp_path / "out")
    write_collection(source(documents=("c",)), tmp_path / "out", force=True)
    assert json.loads((tmp_path / "out" / "corpus.jsonl").read_text())["_id"] == "c"
