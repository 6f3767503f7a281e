from xml.sax.saxutils import quoteattr

import pytest

from autoindex_haystack.collection.importers import write_collection
from autoindex_haystack.collection.importers.stackexchange import stackexchange_source
from autoindex_haystack.errors import CollectionError


def rows(name, *found):
    lines = ("<row " + " ".join(f"{key}={quoteattr(value)}" for key, value in row.items()) + " />" for row in found)
    return f'<?xml version="1.0"?>\n<{name}>\n' + "\n".join(lines) + f"\n</{name}>\n"


def question(name, title, **more):
    return {"Id": name, "PostTypeId": "1", "Title": title, "Body": f"<p>{title} & more</p>", "Tags": "<tea>", **more}


def answer(name, parent, score):
    return {"Id": name, "PostTypeId": "2", "ParentId": parent, "Score": score, "Body": f"<p>answer {name}</p>"}


POSTS = [
    question("1", "Is a < b for  tea?", AcceptedAnswerId="11"),
    answer("11", "1", "-2"),
    answer("12", "1", "5"),
    answer("13", "1", "0"),
    question("2", "Same tea"),
    question("3", "Third tea"),
    question("4", "Round"),
    question("5", "and round"),
    {"Id": "9", "PostTypeId": "5", "Body": "a wiki post"},
]
LINKS = [
    {"Id": "1", "PostId": "2", "RelatedPostId": "1", "LinkTypeId": "3"},
    {"Id": "2", "PostId": "3", "RelatedPostId": "2", "LinkTypeId": "3"},
    {"Id": "3", "PostId": "1", "RelatedPostId": "3", "LinkTypeId": "1"},
    {"Id": "4", "PostId": "4", "RelatedPostId": "5", "LinkTypeId": "3"},
    {"Id": "5", "PostId": "5", "RelatedPostId": "4", "LinkTypeId": "3"},
]


@pytest.fixture
def dump(tmp_path):
    folder = tmp_path / "tea.stackexchange.com"
    folder.mkdir()
    (folder / "Posts.xml").write_text(rows("posts", *POSTS))
    (folder / "PostLinks.xml").write_text(rows("postlinks", *LINKS))
    return folder


def test_answers_are_found_for_the_titles_of_their_questions(dump, imported):
    collection = imported(stackexchange_source(dump))
    assert {document.doc_id: document.text for document in collection.documents} == {
        name: f"<p>answer {name}</p>" for name in ("11", "12", "13")
    }
    assert collection.queries == {"1": "Is a < b for tea?"}
    assert collection.qrels == {"1": {"11": 2, "12": 1}}


def test_repeated_questions_lead_to_the_one_at_the_end_and_are_no_documents(dump, imported):
    collection = imported(stackexchange_source(dump, "duplicates"), metadata_fields=["tags"])
    assert collection.queries == {"2": "Same tea", "3": "Third tea"}
    assert collection.qrels == {"2": {"1": 1}, "3": {"1": 1}}
    assert [document.doc_id for document in collection.documents] == ["1", "4", "5"]
    assert collection.documents[0].metadata == {"title": "Is a < b for tea?", "tags": "<tea>"}


def test_a_broken_or_missing_file_is_named(dump, tmp_path):
    (dump / "PostLinks.xml").unlink()
    with pytest.raises(CollectionError, match=r"PostLinks\.xml does not exist"):
        stackexchange_source(dump, "duplicates")
    (dump / "Posts.xml").write_text("<posts><row Id='1' PostTypeId='2'/>")
    with pytest.raises(CollectionError, match=r"Posts\.xml is broken"):
        write_collection(stackexchange_source(dump), tmp_path / "out")
