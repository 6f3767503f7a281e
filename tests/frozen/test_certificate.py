"""A certificate belongs to the versions with which it was made."""

import pytest

from autoindex_haystack.errors import FrozenError
from autoindex_haystack.frozen import Certificate, outdated, read_certificate, write_certificate
from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex


@pytest.fixture
def certificate():
    return Certificate(
        collection="c",
        program_sha256="0" * 64,
        bm25=BM25Settings(),
        queries=2,
        identical_top100_modelled=1,
        rounding=1,
        unexplained=0,
        max_relative_difference_modelled=1e-7,
        max_relative_difference_plain=0.05,
        overlap_10_plain=1.0,
        overlap_100_plain=0.99,
        causes={"length byte": 3},
        metrics={"bm25s": {"recall@100": 0.5}},
        versions=Bm25sIndex.versions(),
    )


def test_it_is_written_and_read_back(certificate, tmp_path):
    assert read_certificate(tmp_path) is None
    path = write_certificate(tmp_path, certificate)
    assert '"overlap@100_plain": 0.99' in path.read_text()
    assert read_certificate(tmp_path) == certificate


def test_a_damaged_one_is_an_error_that_says_what_to_do(certificate, tmp_path):
    write_certificate(tmp_path, certificate).write_text("{")
    with pytest.raises(FrozenError, match="autoindex crosscheck"):
        read_certificate(tmp_path)


def test_other_versions_are_warned_about(certificate):
    assert outdated(certificate) == []
    old = certificate.model_copy(update={"versions": {**certificate.versions, "bm25s": "0.1.0", "pyserini": "1.6.0"}})
    [warning] = outdated(old)
    assert "bm25s 0.1.0" in warning
    assert "autoindex crosscheck" in warning
