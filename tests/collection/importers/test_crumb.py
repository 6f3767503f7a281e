import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from autoindex_haystack.collection import load_split
from autoindex_haystack.collection.importers import write_collection
from autoindex_haystack.collection.importers.crumb import crumb_source
from autoindex_haystack.errors import CollectionError

CORPUS = [
    {"document_id": "d1", "document_content": "# Tea\nsteep it", "parent_id": None, "metadata": "{}"},
    {"document_id": "d2", "document_content": "# Rye\nknead it", "parent_id": None, "metadata": "{}"},
]


def query(name, *grades):
    labels = [{"id": document, "label": label} for document, label in grades]
    return {
        "query_id": name,
        "query_content": f"what is {name}",
        "instruction": "find it",
        "passage_qrels": [{"id": "d1-0", "label": 1.0}],
        "full_document_qrels": labels,
        "use_max_p": False,
        "metadata": "{}",
    }


PARTS = {
    "full_document_corpus": CORPUS,
    "validation_queries": [query("q1", ("d1", 1.0))],
    "evaluation_queries": [query("q2", ("d2", 0.5), ("d1", 0.0)), query("q3", ("d2", 2.0))],
}


def as_jsonl(folder, rows, name):
    path = folder / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def as_gzip(folder, rows, name):
    path = folder / name / "part.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))


def as_parquet(folder, rows, name):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    for number, row in enumerate(rows):
        pq.write_table(pa.Table.from_pylist([row]), folder / f"{name}-{number:05}-of-{len(rows):05}.parquet")


@pytest.fixture(params=[as_jsonl, as_gzip, as_parquet])
def published(tmp_path, request):
    """The files as Hugging Face lays them out by default."""
    for part, rows in PARTS.items():
        request.param(tmp_path / "crumb", rows, f"{part}/legal_qa")
    return tmp_path / "crumb"


def check(collection):
    assert [document.text for document in collection.documents] == ["# Tea\nsteep it", "# Rye\nknead it"]
    assert collection.qrels == {"q1": {"d1": 1}, "q2": {"d2": 1, "d1": 0}, "q3": {"d2": 2}}


def test_the_usual_layouts_are_read(published, imported):
    check(imported(crumb_source("legal_qa", published)))


def test_files_are_found_as_the_datasets_readme_says(tmp_path, imported):
    folder = tmp_path / "crumb"
    paths = {"full_document_corpus": "law/documents", "validation_queries": "law/dev/labels"}
    paths["evaluation_queries"] = "law/eval/labels"
    for part, path in paths.items():
        as_jsonl(folder, PARTS[part], path)
    configs = "".join(
        f"- config_name: {part}\n  data_files:\n  - split: stack_exchange\n    path: other\n"
        f"  - split: legal_qa\n    path: {path}.jsonl\n"
        for part, path in paths.items()
    )
    (folder / "README.md").write_text(f"---\nlanguage:\n- en\nconfigs:\n{configs}---\n# CRUMB\n")
    check(imported(crumb_source("legal_qa", folder)))


def test_a_task_with_only_a_passage_corpus_takes_that_and_its_judgments(tmp_path, imported):
    folder = tmp_path / "crumb"
    as_jsonl(folder, [{**CORPUS[0], "document_id": "d1-0"}], "passage_corpus/code_retrieval")
    as_jsonl(folder, [query("q1")], "evaluation_queries/code_retrieval")
    assert imported(crumb_source("code_retrieval", folder)).qrels == {"q1": {"d1-0": 1}}


def test_the_pinned_partition_becomes_the_split(published, tmp_path, imported):
    partition = {"legal_qa": {"validation": ["q3"], "evaluation": ["q2", "q1"]}}
    (tmp_path / "partition.json").write_text(json.dumps(partition))
    collection = imported(crumb_source("legal_qa", published, tmp_path / "partition.json"))
    split = load_split(tmp_path / "imported" / "split.json", collection)
    assert (split.validation, split.held_out) == (("q3",), ("q2", "q1"))


def test_what_is_missing_is_named(published, tmp_path):
    with pytest.raises(CollectionError, match="no split 'legal'; it has clinical_trial"):
        crumb_source("legal", published)
    with pytest.raises(CollectionError, match="has no evaluation_queries of code_retrieval"):
        crumb_source("code_retrieval", published)
    (tmp_path / "partition.json").write_text(json.dumps({"code_retrieval": {}}))
    with pytest.raises(CollectionError, match="no partition with validation and evaluation ids of legal_qa"):
        crumb_source("legal_qa", published, tmp_path / "partition.json")


def test_a_broken_parquet_file_is_named(tmp_path):
    as_jsonl(tmp_path / "crumb", PARTS["evaluation_queries"], "evaluation_queries/legal_qa")
    (tmp_path / "crumb" / "full_document_corpus").mkdir()
    (tmp_path / "crumb" / "full_document_corpus" / "legal_qa.parquet").write_bytes(b"PAR1 no table")
    with pytest.raises(CollectionError, match=r"legal_qa\.parquet cannot be read as Parquet"):
        write_collection(crumb_source("legal_qa", tmp_path / "crumb"), tmp_path / "out")
