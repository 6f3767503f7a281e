"""However a corpus is cut into blocks, every record is in exactly one of them, in order."""

import gzip
import importlib.util
import json

import pyarrow
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from autoindex_haystack.distributed.inputs import find_files, plan_blocks, read_block
from autoindex_haystack.errors import CollectionError
from tests.distributed.conftest import write_lines

TEXTS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=30), min_size=1, max_size=20)
PACK = {".jsonl": bytes, ".jsonl.gz": gzip.compress, ".jsonl.zst": zstandard.ZstdCompressor().compress}


def read(files, size):
    blocks = plan_blocks(files, size)
    assert [block.ordinal for block in blocks] == list(range(len(blocks)))
    return [found for block in blocks for found in read_block(block)]


@given(texts=TEXTS, size=st.integers(1, 300), suffix=st.sampled_from([*PACK, ".parquet"]), end=st.booleans())
def test_every_record_is_in_exactly_one_block(tmp_path_factory, texts, size, suffix, end):
    path = tmp_path_factory.mktemp("c") / f"corpus{suffix}"
    records = [{"_id": str(n), "text": text, "metadata": {"n": n}} for n, text in enumerate(texts)]
    if suffix == ".parquet":
        parquet.write_table(pyarrow.Table.from_pylist(records), path, row_group_size=3)
    else:
        lines = "\n".join(json.dumps(record, ensure_ascii=len(texts) % 2 == 0) for record in records)
        path.write_bytes(PACK[suffix]((lines + "\n" * end).encode()))
    found = read(find_files([str(path)]), size)
    assert [one.record for one in found] == records
    assert all(str(path) in one.where for one in found)


def test_a_small_block_size_cuts_and_a_large_one_does_not(corpus, blocks_of):
    assert len(blocks_of(corpus, size=1_000)) > 10
    assert len(blocks_of(corpus, size=1 << 30)) == 2


def test_a_folder_with_a_corpus_file_is_that_file_and_patterns_are_expanded(tmp_path, corpus):
    names = [file.url.rpartition("/")[2] for file in find_files([str(corpus / "*.jsonl*")])]
    assert names == ["a.jsonl", "b.jsonl.gz"]
    write_lines(corpus / "corpus.jsonl", [{"_id": "x", "text": "y"}])
    write_lines(corpus / "queries.jsonl", [{"_id": "x", "text": "y"}])
    assert [file.url.rpartition("/")[2] for file in find_files([str(corpus)])] == ["corpus.jsonl"]


def test_what_is_no_record_stands_among_them_as_an_error(tmp_path):
    path = write_lines(tmp_path / "c.jsonl", [{"_id": "a", "text": "x"}, "{broken", "", "[1]", '"\\ud800"'])
    with path.open("ab") as file:
        file.write(b"\xff\n")
    first, *others = read(find_files([str(path)]), 1 << 20)
    assert first.record == {"_id": "a", "text": "x"}
    assert [str(one.record).partition(":")[0] for one in others] == [one.where for one in others]
    assert [type(one.record) for one in others] == [CollectionError] * 4


@pytest.mark.parametrize("name", ["missing.jsonl", "*.nothing"])
def test_a_corpus_that_is_not_there_is_an_error(tmp_path, name):
    with pytest.raises(CollectionError, match="holds no corpus"):
        find_files([str(tmp_path / name)])


@pytest.mark.skipif(importlib.util.find_spec("s3fs") is not None, reason="s3fs is installed")
def test_a_missing_package_for_a_kind_of_url_is_named():
    with pytest.raises(CollectionError, match=r"s3://bucket/corpus.jsonl cannot be opened.*s3fs"):
        find_files(["s3://bucket/corpus.jsonl"])


def test_an_unknown_kind_of_url_is_an_error():
    with pytest.raises(CollectionError, match=r"nope://x cannot be opened"):
        find_files(["nope://x"])


def test_damage_names_the_file(tmp_path):
    path = tmp_path / "c.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"_id": "a", "text": "x"}\n' * 1000)[:-20])
    with pytest.raises(CollectionError, match=r"c\.jsonl\.gz cannot be read"):
        read(find_files([str(path)]), 100)
    (tmp_path / "d.parquet").write_bytes(b"no parquet")
    with pytest.raises(CollectionError, match=r"d\.parquet cannot be read as Parquet"):
        read(find_files([str(tmp_path / "d.parquet")]), 100)
    parquet.write_table(pyarrow.table({"id": ["a"], "text": ["b"]}), tmp_path / "e.parquet")
    with pytest.raises(CollectionError, match=r'e\.parquet has no column "_id"'):
        read(find_files([str(tmp_path / "e.parquet")]), 100)
