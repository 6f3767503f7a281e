"""Judgments: BEIR's three columns, TREC's four, several files, contradictions."""

import gzip

import pytest

from autoindex_haystack.collection.qrels import qrels_files, read_qrels
from autoindex_haystack.errors import CollectionError

BEIR = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td 2\t0\nq2\td1\t-1\n"


def read(tmp_path, text, name="qrels.tsv"):
    path = tmp_path / name
    path.write_text(text)
    return read_qrels([path])


@pytest.mark.parametrize(
    "text",
    [
        "q1\td1\t2\nq2\td2\t0\n",
        "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td2\t0\n",
        "\n\ufeffquery-id\tcorpus-id\tscore\nq1\td1\t2\n\nq2\td2\t0"[1:],
        "\n\nquery-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td2\t0\n",
        "q1 0 d1 2\nq2 0 d2 0\n",
        "q1  Q0   d1 2\r\nq2\tQ0\td2\t0\r\n",
        "q1\t0\td1\t2\nq2\t0\td2\t0\n",
        "query\titer\tdocument\trelevance\nq1\t0\td1\t2\nq2\t0\td2\t0\n",
    ],
    ids=["BEIR", "header", "BOM", "blank lines", "TREC", "blanks", "TREC with tabs", "TREC with a header"],
)
def test_beir_and_trec_files_are_read_alike(tmp_path, text):
    assert read(tmp_path, text) == {"q1": {"d1": 2}, "q2": {"d2": 0}}


def test_ids_with_blanks_survive_between_tabs_and_negative_grades_are_kept(tmp_path):
    assert read(tmp_path, BEIR) == {"q1": {"d1": 2, "d 2": 0}, "q2": {"d1": -1}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1\td1\t1\nq1\td2\tyes\n", "line 2: the grade 'yes' is no whole number"),
        ("q1\td1\t1.0\nq1\td2\t1\n", "line 1: the grade '1.0' is no whole number"),
        ("q1\td1\t0.5\n", "line 1: the grade '0.5' is no whole number"),
        ("q1\td1\t1\nq1\td2\t\n", "line 2: the grade '' is no whole number"),
        ("q1\td1\t-4294967296\n", "line 1: the grade -4294967296 is beyond 2,147,483,647"),
        ("q1\td1\n", "line 1: 2 columns; needed are"),
        ("q1 0 d1 1 extra\n", "line 1: 5 columns"),
        ("q1\td1\t1\n\td1\t1\n", "line 2: an id is empty"),
        ("q1\t\t1\n", "line 1: an id is empty"),
    ],
)
def test_a_line_that_is_no_judgment_is_named(tmp_path, text, message):
    with pytest.raises(CollectionError, match=rf"qrels\.tsv, {message}"):
        read(tmp_path, text)


def test_contradictory_judgments_are_refused_and_equal_ones_are_not(tmp_path):
    assert read(tmp_path, "q1\td1\t1\nq1\td1\t1\n") == {"q1": {"d1": 1}}
    with pytest.raises(CollectionError, match="line 3: query q1, document d1 has grade 0 here, 1 before"):
        read(tmp_path, "q1\td1\t1\nq1\td2\t0\nq1\td1\t0\n")


def test_all_files_of_a_qrels_folder_are_joined_and_other_files_are_left_alone(tmp_path):
    folder = tmp_path / "qrels"
    folder.mkdir()
    (folder / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    (folder / "test.tsv.gz").write_bytes(gzip.compress(b"query-id\tcorpus-id\tscore\nq1\td2\t1\nq2\td1\t3\n"))
    (folder / "README.md").write_text("not judgments")
    assert read_qrels(qrels_files(tmp_path)) == {"q1": {"d1": 1, "d2": 1}, "q2": {"d1": 3}}
    (folder / "dev.tsv").write_text("q2\td1\t0\n")
    with pytest.raises(CollectionError, match=r"(test\.tsv\.gz|train\.tsv|dev\.tsv), line \d: query q2, document d1"):
        read_qrels(qrels_files(tmp_path))


def test_a_collection_without_judgments_is_refused(tmp_path):
    (tmp_path / "qrels").mkdir()
    with pytest.raises(CollectionError, match="has no judgments"):
        qrels_files(tmp_path)
