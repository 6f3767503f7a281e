"""Collection files: compression, line ends, encodings; damage is named with file and line."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from autoindex_haystack.collection import load_collection, load_corpus
from autoindex_haystack.collection.readers import read_lines, read_records
from autoindex_haystack.errors import CollectionError

TEXT = "first\nsecond\n\n   \nthird, without an end"
LINES = [(1, "first"), (2, "second"), (5, "third, without an end")]

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
ENOUGH = "".join(json.dumps({"_id": str(i), "text": f"text {i * i}"}) + "\n" for i in range(20_000)).encode()


def lines_of(tmp_path: Path, data: bytes, suffix: str = "") -> list[tuple[int, str]]:
    path = tmp_path / f"file.jsonl{suffix}"
    path.write_bytes(data)
    return list(read_lines(path))


@pytest.mark.parametrize("suffix", PACK)
def test_files_are_read_alike_whether_compressed_or_not(tmp_path, suffix):
    assert lines_of(tmp_path, PACK[suffix](TEXT.encode()), suffix) == LINES


@pytest.mark.parametrize("suffix", PACK)
def test_a_byte_order_mark_and_carriage_returns_are_no_part_of_lines(tmp_path, suffix):
    data = b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode()
    assert lines_of(tmp_path, PACK[suffix](data), suffix) == LINES


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_compressed_file_of_several_parts_is_read_to_its_end(tmp_path, suffix):
    parts = PACK[suffix](b"first\n") + PACK[suffix](b"") + PACK[suffix](b"second\n")
    assert [line for _, line in lines_of(tmp_path, parts, suffix)] == ["first", "second"]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("kept", [0.5, 0.999], ids=["half", "all but the end"])
def test_a_compressed_file_that_was_cut_off_is_refused(tmp_path, suffix, kept):
    whole = PACK[suffix](ENOUGH)
    with pytest.raises(CollectionError, match=r"file\.jsonl\.(gz|zst) cannot be read after line \d+"):
        lines_of(tmp_path, whole[: int(len(whole) * kept)], suffix)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_file_that_is_not_compressed_although_its_name_says_so_is_refused(tmp_path, suffix):
    with pytest.raises(CollectionError, match="cannot be read after line 0"):
        lines_of(tmp_path, b'{"_id": "1"}\n', suffix)


def test_latin_1_bytes_are_named_with_their_line(tmp_path):
    with pytest.raises(CollectionError, match=r"line 2: not UTF-8 \(byte 0xe9\); convert the file"):
        lines_of(tmp_path, "first\ncafé\n".encode("latin-1"))


def test_a_missing_file_and_a_folder_in_its_place_are_refused(tmp_path):
    with pytest.raises(CollectionError, match="does not exist"):
        list(read_lines(tmp_path / "nothing.jsonl"))
    with pytest.raises(CollectionError, match="cannot be read"):
        list(read_lines(tmp_path))


@pytest.mark.parametrize(
    ("third", "message"),
    [
        ('{"_id": "3", "text": "cut of', "line 3: broken JSON"),
        ('{"_id": "3"} trailing', "line 3: broken JSON"),
        ("[1, 2]", "line 3: a JSON object is needed, this is a list"),
        ("null", "line 3: a JSON object is needed, this is null"),
        ("[" * 100_000, "line 3: (JSON nested too deeply|broken JSON)"),
        (r'{"_id": "3", "text": "half \ud83d only"}', "line 3: half a surrogate pair"),
        (r'{"_id": "\udc80", "text": "x"}', "line 3: half a surrogate pair"),
        (r'{"_id": "3", "text": "x", "metadata": {"\ud800": 1}}', "line 3: half a surrogate pair"),
    ],
)
def test_a_broken_line_is_named_and_nothing_is_loaded(write, third, message):
    folder = write(corpus='{"_id": "1", "text": "a"}\n\n' + third + '\n{"_id": "4", "text": "b"}\n')
    with pytest.raises(CollectionError, match=rf"corpus\.jsonl, {message}"):
        load_collection(folder)


def test_a_whole_surrogate_pair_is_text(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text(r'{"_id": "1", "text": "\ud83d\ude00"}')
    assert load_corpus(path)[0].text == "😀"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=50)
@given(
    records=st.lists(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), JSON_VALUES), max_size=5),
    escaped=st.booleans(),
    end=st.sampled_from(["\n", "\r\n", "\n\n"]),
    suffix=st.sampled_from(sorted(PACK)),
)
def test_records_come_back_as_they_were_written(tmp_path_factory, records, escaped, end, suffix):
    data = "".join(json.dumps(record, ensure_ascii=escaped) + end for record in records).encode()
    path = tmp_path_factory.getbasetemp() / f"records.jsonl{suffix}"
    path.write_bytes(PACK[suffix](data))
    assert [record for _, record in read_records(path)] == records
