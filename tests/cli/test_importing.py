import json
from xml.sax.saxutils import quoteattr

import pytest

from autoindex_haystack.collection import load_collection


@pytest.fixture
def layouts(tmp_path, monkeypatch):
    """For each layout a tiny collection in it, and the arguments that import it."""
    monkeypatch.chdir(tmp_path)
    write = {
        "docs/tea.md": "# Tea\nsteep it",
        "questions.csv": "question,file\nhow is tea made,tea.md\n",
        "documents.json": json.dumps([{"id": "tea.md", "content": "# Tea\nsteep it", "meta": {"title": "Tea"}}]),
        "queries.jsonl": json.dumps({"_id": "q1", "text": "how is tea made"}) + "\n",
        "qrels.tsv": "q1\ttea.md\t1\n",
        "docs.trec": "<DOC>\n<DOCNO>tea.md</DOCNO>\n<TITLE>Tea</TITLE>\n<TEXT># Tea\nsteep it</TEXT>\n</DOC>\n",
        "topics.tsv": "q1\thow is tea made\n",
        "qrels.txt": "q1 0 tea.md 1\n",
        "crumb/full_document_corpus/legal_qa.jsonl": json.dumps(
            {"document_id": "tea.md", "document_content": "# Tea\nsteep it"}
        ),
        "crumb/evaluation_queries/legal_qa.jsonl": json.dumps(
            {
                "query_id": "q1",
                "query_content": "how is tea made",
                "full_document_qrels": [{"id": "tea.md", "label": 1.0}],
            }
        ),
        "dump/Posts.xml": "<posts>"
        "<row Id='q1' PostTypeId='1' Title='how is tea made' AcceptedAnswerId='tea.md'/>"
        f"<row Id='tea.md' PostTypeId='2' ParentId='q1' Score='1' Body={quoteattr('# Tea&#10;steep it')}/></posts>",
    }
    for name, text in write.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {
        "folder": ["docs", "--questions", "questions.csv"],
        "haystack": ["documents.json", "--queries", "queries.jsonl", "--qrels", "qrels.tsv"],
        "trec": ["docs.trec", "--topics", "topics.tsv", "--qrels", "qrels.txt"],
        "crumb": ["legal_qa", "--from", "crumb"],
        "stackexchange": ["dump"],
    }


@pytest.mark.parametrize("layout", ["folder", "haystack", "trec", "crumb", "stackexchange"])
def test_every_layout_becomes_a_collection(autoindex, layouts, layout):
    done = autoindex("import", layout, *layouts[layout], "--out", "made", "--json")
    assert done.code == 0, done.err
    assert {"documents": 1, "queries": 1, "judgments": 1}.items() <= json.loads(done.out).items()
    collection = load_collection("made")
    assert list(collection.queries.values()) == ["how is tea made"]
    assert [document.doc_id for document in collection.documents] == ["tea.md"]


def test_the_layouts_that_the_help_lists_are_these(autoindex, layouts):
    printed = autoindex("import", "--help").out
    assert all(f"\n  {layout} " in printed for layout in [*layouts, "irds"])


def test_an_input_is_never_replaced(autoindex, layouts):
    done = autoindex("import", "folder", *layouts["folder"], "--out", "docs", "--force")
    assert (done.code, "would replace" in done.err) == (2, True)


def test_wrong_use_is_told_in_one_sentence(autoindex, layouts):
    done = autoindex("import", "trec", *layouts["trec"], "--topic-fields", "title,abstract", "--out", "made")
    assert done.code == 2
    assert "'abstract' is no part of a topic" in done.err
    done = autoindex("import", "irds", "no-such/dataset", "--out", "made")
    assert (done.code, "no dataset" in done.err) == (2, True)
