"""The corpus as blocks: ranges of its files that are always cut in the same places, the unit of all work."""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from autoindex_haystack.collection.readers import SUFFIXES, decompressed, parse_record
from autoindex_haystack.distributed.filesystem import open_filesystem, shown
from autoindex_haystack.errors import CollectionError

_LINES = tuple(kind + suffix for kind in (".jsonl", ".ndjson", ".json") for suffix in SUFFIXES)
_PARQUET = ".parquet"
_CORPUS = "corpus.jsonl"
_WHOLE = 4
"""A compressed file that has so much less than a block's bytes is one block."""

_ROWS = 1_000
_COLUMNS = ("_id", "title", "text", "metadata")
_BOM = b"\xef\xbb\xbf"


class InputFile(BaseModel):
    """A file of the corpus.

    :param url: Where it is.
    :param size: Its bytes.
    :param version: What else tells whether it was changed: a time or a tag.
    """

    model_config = ConfigDict(frozen=True)

    url: str
    size: int
    version: str


class InputBlock(BaseModel):
    """A range of one file.

    :param ordinal: Its place among all blocks.
    :param url: The file.
    :param begin: Where it begins: a byte of plain JSON lines, a line of compressed ones, a row group of Parquet.
    :param end: Where it ends, exclusively; -1 for the end of the file.
    """

    model_config = ConfigDict(frozen=True)

    ordinal: int
    url: str
    begin: int
    end: int


class Given(NamedTuple):
    """What was found in the corpus.

    :param where: Where, for messages.
    :param record: The record, or why there is none.
    """

    where: str
    record: Mapping[str, Any] | CollectionError


@dataclass(frozen=True)
class _Range:
    begin: int
    end: int


def find_files(corpora: Iterable[str]) -> list[InputFile]:
    """Find the files of a corpus.

    :param corpora: Files, folders or patterns such as ``s3://bucket/part-*.parquet``, local or by URL: JSON lines as in
        ``corpus.jsonl`` (plain, ``.gz`` or ``.zst``), or Parquet with the same fields as columns. Of a folder with a
        ``corpus.jsonl`` only that counts.
    :returns: The files, in the order given, those of a folder or pattern by name.
    :raises CollectionError: If there is none.
    """
    files: dict[str, InputFile] = {}
    for corpus in corpora:
        filesystem, path = open_filesystem(corpus, CollectionError)
        try:
            paths = _expanded(filesystem, path)
            for found in paths:
                info = filesystem.info(found)
                version = next((str(info[k]) for k in ("ETag", "etag", "md5Hash", "mtime", "created") if k in info), "")
                url = filesystem.unstrip_protocol(found)
                files[url] = InputFile(url=url, size=int(info["size"] or 0), version=version)
        except FileNotFoundError:
            paths = []
        except OSError as error:
            msg = f"{corpus} cannot be read ({error}); check the path and your rights"
            raise CollectionError(msg) from error
        if not paths:
            msg = (
                f"{corpus} holds no corpus; give a file of JSON lines or Parquet, or a folder or pattern of such files"
            )
            raise CollectionError(msg)
    return list(files.values())


def plan_blocks(files: Iterable[InputFile], block_bytes: int) -> list[InputBlock]:
    """Cut files into blocks. The same files are always cut in the same places.

    :param files: The files.
    :param block_bytes: How large a block shall be, uncompressed, in bytes.
    :returns: The blocks, in the order of the files. Compressed lines are read once for it.
    :raises CollectionError: If a file cannot be read.
    """
    blocks: list[InputBlock] = []
    for file in files:
        if file.url.endswith(_PARQUET):
            ranges = _row_groups(file, block_bytes)
        elif _is_compressed(file.url):
            ranges = _line_ranges(file, block_bytes)
        else:
            count = max(1, -(-file.size // block_bytes))
            ranges = [_Range(i * file.size // count, (i + 1) * file.size // count) for i in range(count)]
        for part in ranges:
            blocks.append(InputBlock(ordinal=len(blocks), url=file.url, begin=part.begin, end=part.end))
    return blocks


def read_block(block: InputBlock) -> Iterator[Given]:
    """Read a block.

    :param block: The block.
    :returns: Its records, in order; what is no record stands among them as an error.
    :raises CollectionError: If the file cannot be read any further.
    """
    filesystem, path = open_filesystem(block.url, CollectionError)
    name = shown(block.url)
    if block.url.endswith(_PARQUET):
        yield from _parquet_rows(filesystem, path, name, block)
        return
    try:
        with filesystem.open(path, "rb") as stream:
            lines = _compressed_lines(stream, block) if _is_compressed(block.url) else _plain_lines(stream, block)
            for where, line in lines:
                if line and not line.isspace():
                    yield _parsed(line, f"{name}, {where}")
    except (OSError, EOFError, zlib.error) as error:
        msg = f"{name} cannot be read ({error}); check the file"
        raise CollectionError(msg) from error


def typed_record(record: Mapping[str, Any], where: str) -> Given:
    """Take a record as engines with typed columns have it: metadata as JSON or as pairs, None for what is missing.

    :param record: The record.
    :param where: Where it stands.
    :returns: The record as JSON lines would have it, or what is wrong with it.
    """
    value = record.get("metadata")
    try:
        if isinstance(value, str):
            value = json.loads(value) if value else {}
        elif isinstance(value, list):
            value = dict(value)
    except (TypeError, ValueError) as error:
        return Given(where, CollectionError(f'{where}: the field "metadata" is no object ({error})'))
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if item is not None}
    return Given(where, {**record, "metadata": value})


def _expanded(filesystem: Any, path: str) -> list[str]:
    """The files that a path stands for."""
    if any(character in path for character in "*?["):
        return [found for found in sorted(filesystem.glob(path)) if not filesystem.isdir(found)]
    if not filesystem.isdir(path):
        return [path] if filesystem.exists(path) else []
    inside = sorted(found for found in filesystem.ls(path, detail=False) if not filesystem.isdir(found))
    corpus = [found for found in inside if found.rpartition("/")[2] in {_CORPUS + suffix for suffix in SUFFIXES}]
    if len(corpus) > 1:
        msg = f"{path} has both {corpus[0].rpartition('/')[2]} and {corpus[1].rpartition('/')[2]}; keep one of them"
        raise CollectionError(msg)
    return corpus or [found for found in inside if found.endswith((*_LINES, _PARQUET))]


def _is_compressed(url: str) -> bool:
    return url.endswith(tuple(suffix for suffix in SUFFIXES if suffix))


def _line_ranges(file: InputFile, block_bytes: int) -> list[_Range]:
    """Lines of a compressed file in ranges; the file is read once, unless it is small."""
    if file.size * _WHOLE <= block_bytes:
        return [_Range(0, -1)]
    filesystem, path = open_filesystem(file.url, CollectionError)
    begins, size, number = [0], 0, 0
    try:
        with filesystem.open(path, "rb") as stream:
            for number, line in enumerate(decompressed(stream, path)):
                if size >= block_bytes:
                    begins.append(number)
                    size = 0
                size += len(line)
    except (OSError, EOFError, zlib.error) as error:
        msg = f"{shown(file.url)} cannot be read after line {number + 1} ({error}); check the file"
        raise CollectionError(msg) from error
    return [_Range(begin, end) for begin, end in zip(begins, [*begins[1:], -1], strict=True)]


def _plain_lines(stream: IO[bytes], block: InputBlock) -> Iterator[tuple[str, bytes]]:
    """The lines that begin within the block's bytes."""
    position = block.begin
    if position:
        stream.seek(position - 1)
        position += len(stream.readline()) - 1
    while position < block.end:
        line = stream.readline()
        if not line:
            return
        yield f"byte {position}", line.removeprefix(_BOM) if position == 0 else line
        position += len(line)


def _compressed_lines(stream: Any, block: InputBlock) -> Iterator[tuple[str, bytes]]:
    lines = enumerate(decompressed(stream, block.url))
    for number, line in islice(lines, block.begin, None if block.end < 0 else block.end):
        yield f"line {number + 1}", line.removeprefix(_BOM) if number == 0 else line


def _parsed(line: bytes, where: str) -> Given:
    try:
        return Given(where, parse_record(line.decode("utf-8"), where))
    except UnicodeDecodeError as error:
        msg = f"{where}: not UTF-8 (byte 0x{error.object[error.start]:02x})"
        return Given(where, CollectionError(msg))
    except CollectionError as error:
        return Given(where, error)


def _row_groups(file: InputFile, block_bytes: int) -> list[_Range]:
    with _parquet(file.url) as parquet:
        sizes = [parquet.metadata.row_group(i).total_byte_size for i in range(parquet.metadata.num_row_groups)]
    ranges, begin, size = [], 0, 0
    for i, more in enumerate(sizes):
        if size and size + more > block_bytes:
            ranges.append(_Range(begin, i))
            begin, size = i, 0
        size += more
    return [*ranges, _Range(begin, len(sizes))] if sizes else []


def _parquet(url: str) -> Any:
    import pyarrow
    from pyarrow.parquet import ParquetFile

    filesystem, path = open_filesystem(url, CollectionError)
    try:
        return ParquetFile(filesystem.open(path, "rb"))
    except (OSError, pyarrow.ArrowException) as error:
        msg = f"{shown(url)} cannot be read as Parquet ({error}); check the file"
        raise CollectionError(msg) from error


def _parquet_rows(filesystem: Any, path: str, name: str, block: InputBlock) -> Iterator[Given]:
    import pyarrow

    with _parquet(block.url) as parquet:
        columns = [column for column in _COLUMNS if column in parquet.schema_arrow.names]
        for needed in ("_id", "text"):
            if needed not in columns:
                msg = f'{name} has no column "{needed}"; a corpus has "_id", "text" and, if there are any, "title" and '
                raise CollectionError(msg + '"metadata"')
        number = sum(parquet.metadata.row_group(i).num_rows for i in range(block.begin))
        groups = list(range(block.begin, block.end))
        try:
            for batch in parquet.iter_batches(batch_size=_ROWS, row_groups=groups, columns=columns):
                for record in batch.to_pylist():
                    number += 1
                    yield typed_record(record, f"{name}, row {number}")
        except (OSError, pyarrow.ArrowException) as error:
            msg = f"{name} cannot be read after row {number} ({error}); check the file"
            raise CollectionError(msg) from error
