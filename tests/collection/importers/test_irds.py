import ir_datasets
import pytest

from autoindex_haystack.collection.importers import write_collection
from autoindex_haystack.collection.importers.irds import irds_source
from autoindex_haystack.errors import CollectionError


@pytest.fixture
def dataset(tmp_path):
    """A dataset of local files under a name of its own."""
    (tmp_path / "docs.tsv").write_text("d1\tsteep the tea\nd2\tknead the dough\n")
    (tmp_path / "queries.tsv").write_text("q1\thow is tea made\n")
    (tmp_path / "qrels").write_text("q1 0 d1 2\n")
    docs, queries, qrels = (str(tmp_path / name) for name in ("docs.tsv", "queries.tsv", "qrels"))
    made = ir_datasets.create_dataset(docs_tsv=docs, queries_tsv=queries, qrels_trec=qrels)
    name = f"made-up-{tmp_path.name}".replace("_", "-")
    ir_datasets.registry.register(name, made)
    ir_datasets.registry.register(f"{name}-bare", ir_datasets.create_dataset(docs_tsv=docs))
    return name


def test_a_dataset_is_imported_by_its_name(dataset, imported):
    collection = imported(irds_source(dataset))
    assert {document.doc_id: document.text for document in collection.documents} == {
        "d1": "steep the tea",
        "d2": "knead the dough",
    }
    assert collection.queries == {"q1": "how is tea made"}
    assert collection.qrels == {"q1": {"d1": 2}}


def test_what_is_missing_is_named(dataset, tmp_path):
    with pytest.raises(CollectionError, match="no dataset 'no/such'"):
        irds_source("no/such")
    with pytest.raises(CollectionError, match="has no queries"):
        write_collection(irds_source(f"{dataset}-bare"), tmp_path / "out")
