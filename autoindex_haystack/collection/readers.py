"""Reading collection files line by line: plain, gzip or zstandard, UTF-8, with errors that name file and line."""

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, TextIO

from autoindex_haystack.errors import CollectionError

SUFFIXES = ("", ".gz", ".zst")
"""How a collection file may be compressed, in the order in which names are tried."""

if TYPE_CHECKING:
    import zstandard

_COMPRESSED = 16 << 10
"""Bytes that are decompressed at a time."""

_BOM = b"\xef\xbb\xbf"


def find_file(folder: Path, name: str) -> Path | None:
    """Find a collection file, plain or compressed.

    :param folder: Where to look.
    :param name: The file's plain name, such as ``corpus.jsonl``.
    :returns: The path, or None when there is none.
    :raises CollectionError: If the file is there more than once (plain and compressed).
    """
    found = [path for suffix in SUFFIXES if (path := folder / (name + suffix)).is_file()]
    if len(found) > 1:
        msg = f"{folder} has both {found[0].name} and {found[1].name}; keep one of them"
        raise CollectionError(msg)
    return found[0] if found else None


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Read a UTF-8 text file, plain or compressed.

    :param path: The file; ``.gz`` and ``.zst`` are decompressed.
    :returns: Pairs of line number (from 1) and line without its end; blank lines are left out, as are a byte order mark
        and carriage returns.
    :raises CollectionError: If the file is missing, damaged or not UTF-8.
    """
    number = 0
    try:
        with _open(path) as stream:
            for number, raw in enumerate(stream, start=1):
                line = raw.removeprefix(_BOM) if number == 1 else raw
                text = line.decode("utf-8").rstrip("\r\n")
                if text and not text.isspace():
                    yield number, text
    except UnicodeDecodeError as error:
        msg = f"{path}, line {number}: not UTF-8 (byte 0x{error.object[error.start]:02x}); convert the file to UTF-8"
        raise CollectionError(msg) from None
    except FileNotFoundError:
        msg = f"{path} does not exist; give the path of an existing file"
        raise CollectionError(msg) from None
    except (OSError, EOFError, zlib.error) as error:
        msg = f"{path} cannot be read after line {number} ({error}); check the file"
        raise CollectionError(msg) from error


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, plain or compressed, for reading from its begin on.

    :param path: The file; ``.gz`` and ``.zst`` are decompressed.
    :returns: A context manager that gives the stream; a byte order mark is left out.
    :raises CollectionError: If the file is missing, damaged or, where it is decoded, not UTF-8.
    """
    try:
        with _open(path) as stream:
            if stream.peek(len(_BOM)).startswith(_BOM):  # type: ignore[attr-defined]
                stream.read(len(_BOM))
            yield stream
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 (byte 0x{error.object[error.start]:02x}); convert the file to UTF-8"
        raise CollectionError(msg) from None
    except FileNotFoundError:
        msg = f"{path} does not exist; give the path of an existing file"
        raise CollectionError(msg) from None
    except (OSError, EOFError, zlib.error) as error:
        msg = f"{path} cannot be read ({error}); check the file"
        raise CollectionError(msg) from error


@contextmanager
def open_text(path: Path, errors: str = "strict") -> Iterator[TextIO]:
    """Open a UTF-8 text file; see :func:`open_bytes`.

    :param path: The file.
    :param errors: What to do with what is not UTF-8, as in :func:`open`.
    :returns: A context manager that gives the text stream.
    """
    with open_bytes(path) as stream, io.TextIOWrapper(stream, "utf-8", errors=errors, newline="") as text:
        yield text


def read_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a JSON-lines file.

    :param path: The file.
    :returns: Pairs of line number (from 1) and JSON object.
    :raises CollectionError: If a line is no JSON object or holds half a surrogate pair.
    """
    for number, line in read_lines(path):
        yield number, parse_record(line, f"{path}, line {number}")


def parse_record(line: str, where: str) -> dict[str, Any]:
    """Read one line of a JSON-lines file.

    :param line: The line.
    :param where: File and line, for the message.
    :returns: The JSON object.
    :raises CollectionError: If the line is no JSON object or holds half a surrogate pair.
    """
    try:
        record = json.loads(line)
    except ValueError as error:
        msg = f"{where}: broken JSON ({error}); mend or remove the line"
        raise CollectionError(msg) from None
    except RecursionError:
        msg = f"{where}: JSON nested too deeply; mend or remove the line"
        raise CollectionError(msg) from None
    if not isinstance(record, dict):
        msg = f"{where}: a JSON object is needed, this is {_kind(record)}"
        raise CollectionError(msg)
    if "\\u" in line:
        refuse_surrogates(record, where)
    return record


def string_field(record: Mapping[str, Any], name: str, where: str, *, default: str | None = None) -> str:
    """Take a text field out of a record.

    :param record: The JSON object.
    :param name: The field's name.
    :param where: File and line, for the message.
    :param default: What a missing or null field means; when not given, a missing field is an error.
    :returns: The text.
    :raises CollectionError: If the field is missing or no string.
    """
    value = record.get(name, default)
    if value is None:
        value = default
    if isinstance(value, str):
        return value
    if value is None:
        msg = f'{where}: the field "{name}" is missing; add it as a string'
        raise CollectionError(msg)
    hint = f'; write "{value}" in quotes' if isinstance(value, int | float) and not isinstance(value, bool) else ""
    msg = f'{where}: the field "{name}" must be a string, this is {_kind(value)}{hint}'
    raise CollectionError(msg)


def refuse_surrogates(value: Any, where: str) -> None:
    """Refuse text that is no Unicode.

    :param value: Anything that JSON can hold.
    :param where: File and line, for the message.
    :raises CollectionError: If it holds half a surrogate pair.
    """
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        msg = f"{where}: half a surrogate pair (\\ud800 to \\udfff) is no text; mend or remove it"
        raise CollectionError(msg) from None


def decompressed(stream: BinaryIO, name: str) -> IO[bytes]:
    """Read a compressed file as what it holds.

    :param stream: The file.
    :param name: Its name, whose end says how it is compressed: ``.gz``, ``.zst``, or not at all.
    :returns: The stream; damage is an OSError, EOFError or zlib.error when it is read.
    """
    if name.endswith(".gz"):
        return io.BufferedReader(_Gzip(stream))
    if name.endswith(".zst"):
        import zstandard

        return io.BufferedReader(_Zstandard(stream, zstandard.ZstdDecompressor()))
    return stream


def _open(path: Path) -> IO[bytes]:
    return decompressed(path.open("rb"), path.name)


class _Gzip(gzip.GzipFile):
    """A file of gzip members that is closed with this object."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(fileobj=stream, mode="rb")
        self._stream = stream

    def close(self) -> None:
        super().close()
        self._stream.close()


class _Zstandard(io.RawIOBase):
    """A file of zstandard frames, read like gzip's: all frames, and an OSError for damage and for a cut-off end.

    The package's own reader takes a file that was cut off for one that ended.
    """

    def __init__(self, stream: IO[bytes], decompressor: "zstandard.ZstdDecompressor") -> None:
        self._stream = stream
        self._decompressor = decompressor
        self._frame = decompressor.decompressobj()
        self._started = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        import zstandard

        try:
            while not self._ready and self._advance():
                pass
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from error
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _advance(self) -> bool:
        """Decompress a bit more; False at the end."""
        rest = b""
        if self._frame.eof:
            rest, self._frame, self._started = self._frame.unused_data, self._decompressor.decompressobj(), False
        data = rest or self._stream.read(_COMPRESSED)
        if not data:
            if self._started:
                msg = "Compressed file ended before the end of a frame"
                raise OSError(msg)
            return False
        self._started = True
        self._ready = memoryview(self._frame.decompress(data))
        return True

    def close(self) -> None:
        self._stream.close()
        super().close()


def _kind(value: Any) -> str:
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return "null" if value is None else kinds.get(type(value), type(value).__name__)
