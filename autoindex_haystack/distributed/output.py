"""The folder of a job: what it was asked, what is finished, and the chunks.

    job.json                     what was asked; another job is refused
    blocks/00000012.json         written last: the block is finished
    chunks/00000012.parquet      its chunks: chunk_id, doc_id, text, meta
    chunks/00000012.failed.jsonl the documents that were put aside, with their errors
    loaded/00000012.json         the block is in the cluster; ….failed.jsonl has what it refused
    loaded.json                  whether the job created the index there
    parts/0003-of-0008/          a part of the index, until all are merged; shards/… when they are kept
    index/                       the index

Every file is there whole or not at all, and what is done twice gives the same, so a job goes on where it was stopped.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, ValidationError

from autoindex_haystack.distributed.filesystem import Folder
from autoindex_haystack.distributed.inputs import InputBlock, InputFile
from autoindex_haystack.errors import BackendError, RunError
from autoindex_haystack.retrieval import BM25Settings

if TYPE_CHECKING:
    import pyarrow

JOB, BLOCKS, CHUNKS, LOADED, PARTS, SHARDS, INDEX = "job.json", "blocks", "chunks", "loaded", "parts", "shards", "index"
FORMAT_VERSION = 1

_ROW_GROUP = 2_000
"""Few enough rows that one document's chunks are read quickly."""


class Job(BaseModel):
    """What a job was asked.

    :param component_sha256: The frozen component.
    :param inputs: The files of the corpus.
    :param block_bytes: How large its blocks are.
    :param blocks: How many there are.
    :param backend: The engine of the index; None for a cluster alone.
    :param bm25: BM25 parameters and analyzer.
    :param shards: How many parts of the index are kept; 0 when they are merged.
    :param sink: The kind of cluster that is loaded, its address without a password, and the index there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format_version: int = FORMAT_VERSION
    component_sha256: str
    inputs: tuple[InputFile, ...]
    block_bytes: int
    blocks: int
    backend: str | None
    bm25: BM25Settings
    shards: int = 0
    sink: tuple[str, str, str] | None = None


class BlockRecord(BaseModel):
    """What a finished block has.

    :param block: The block.
    :param documents: Documents, those that failed and lines that are none counted too.
    :param failed: How many of them were put aside.
    :param unreachable: Documents that the program left without any token.
    :param first_unreachable: The id of one.
    :param rows: Rows of its chunk file.
    :param chunks: Those of them with index text.
    :param document_bytes: Bytes of the documents' texts.
    :param chunk_bytes: Bytes of the chunks' texts.
    :param seconds: How long it took.
    """

    block: InputBlock
    documents: int = 0
    failed: int = 0
    unreachable: int = 0
    first_unreachable: str = ""
    first_failure: str = ""
    rows: int = 0
    chunks: int = 0
    document_bytes: int = 0
    chunk_bytes: int = 0
    seconds: float = 0.0


class Output:
    """The folder of a job.

    :param url: The folder, local or on any file system that fsspec knows.
    """

    def __init__(self, url: str) -> None:
        self.folder = Folder(url)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes of this machine from the job; on other file systems nobody can be kept from it.

        :returns: A context manager.
        :raises RunError: If another process is at work on the job.
        """
        path = self.folder.local
        if path is None:
            yield
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.parent / f".{path.name}.lock", timeout=0, is_singleton=False)
        try:
            lock.acquire()
        except Timeout:
            msg = f"another process is at work on {path}; wait until it ends, or choose another place"
            raise RunError(msg) from None
        try:
            yield
        finally:
            with suppress(OSError):
                Path(lock.lock_file).unlink()
            lock.release()

    def claim(self, job: Job, *, force: bool) -> None:
        """Begin the job here, or go on with it.

        :param job: The job.
        :param force: Whether what is there is removed first.
        :raises RunError: If another job or something else is there.
        """
        there = self.folder.read_json(JOB)
        if there is not None and not force:
            try:
                same = Job.model_validate(there) == job
            except ValidationError:
                same = False
            if not same:
                msg = (
                    f"{self.folder.url} holds another job (other files, settings or component); choose another place "
                    "or replace it with --force"
                )
                raise RunError(msg)
            return
        if self.folder.names() and not force:
            msg = f"{self.folder.url} exists; choose another place or replace it with --force"
            raise RunError(msg)
        self.folder.remove()
        self.folder.write_json(JOB, job.model_dump(mode="json"))

    def sweep(self) -> None:
        """Remove the halves of files that were being written when the job was stopped; at its end."""
        for stage in (BLOCKS, CHUNKS, LOADED):
            (self.folder / stage).sweep()

    def job(self) -> Job | None:
        """Returns the job; None if there is none."""
        found = self.folder.read_json(JOB)
        return None if found is None else Job.model_validate(found)

    def finished(self, stage: str = BLOCKS) -> set[int]:
        """Returns the ordinals of the blocks with which a stage is done.

        :param stage: ``blocks`` or ``loaded``.
        """
        return {int(name.removesuffix(".json")) for name in (self.folder / stage).names(".json")}

    def loaded(self, ordinal: int) -> dict[str, Any]:
        """Returns what of a block is in the cluster."""
        return self.folder.read_json(f"{LOADED}/{_name(ordinal)}.json") or {}

    def record(self, ordinal: int) -> BlockRecord:
        """Returns what a finished block has."""
        found = self.folder.read_json(f"{BLOCKS}/{_name(ordinal)}.json")
        try:
            return BlockRecord.model_validate(found)
        except ValidationError as error:
            msg = f"the record of block {ordinal} in {self.folder.url} is damaged; remove it and run the command again"
            raise BackendError(msg) from error

    def finish(self, stage: str, ordinal: int, record: dict[str, Any]) -> None:
        """Write down that a stage is done with a block; after everything else."""
        self.folder.write_json(f"{stage}/{_name(ordinal)}.json", record)

    @contextmanager
    def writing_chunks(self, ordinal: int) -> Iterator["ChunkWriter"]:
        """Write the chunks of a block."""
        with self.folder.writing(f"{CHUNKS}/{_name(ordinal)}.parquet") as stream:
            writer = ChunkWriter(stream)
            try:
                yield writer
            finally:
                writer.close()

    def write_failed(self, ordinal: int, failures: Sequence[dict[str, str]], stage: str = CHUNKS) -> None:
        """Write the documents of a block that were put aside, or chunks that a cluster refused."""
        with self.folder.writing(f"{stage}/{_name(ordinal)}.failed.jsonl") as stream:
            for failure in failures:
                stream.write(json.dumps(failure, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    def chunks(self, ordinal: int, columns: Sequence[str]) -> Iterator["pyarrow.RecordBatch"]:
        """Read the chunks of a block.

        :param ordinal: The block.
        :param columns: Which of ``chunk_id``, ``doc_id``, ``text`` and ``meta``.
        :returns: The rows in order, as batches.
        """
        from pyarrow.parquet import ParquetFile

        with self.folder.reading(f"{CHUNKS}/{_name(ordinal)}.parquet") as stream, ParquetFile(stream) as parquet:
            yield from parquet.iter_batches(batch_size=_ROW_GROUP, columns=list(columns))

    def document(self, ordinal: int, doc_id: str) -> list[dict[str, Any]]:
        """Read the chunks of one document.

        :param ordinal: Its block.
        :param doc_id: Its id.
        :returns: Its rows, in order.
        """
        from pyarrow.parquet import ParquetFile

        with self.folder.reading(f"{CHUNKS}/{_name(ordinal)}.parquet") as stream, ParquetFile(stream) as parquet:
            for group in range(parquet.metadata.num_row_groups):
                names = parquet.read_row_group(group, columns=["doc_id"]).column(0).to_pylist()
                if doc_id in names:  # A document's chunks stand together, in one row group.
                    begin, count = names.index(doc_id), names.count(doc_id)
                    return list(parquet.read_row_group(group).slice(begin, count).to_pylist())
        msg = f"the chunks in {self.folder.url} are not those of its index; remove it and run the command again"
        raise BackendError(msg)


class ChunkWriter:
    """Writes rows of chunks as Parquet.

    :param stream: Where to.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        import pyarrow
        from pyarrow.parquet import ParquetWriter

        self._schema = pyarrow.schema([(name, pyarrow.string()) for name in ("chunk_id", "doc_id", "text", "meta")])
        self._writer = ParquetWriter(stream, self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Write the chunks of one document."""
        self._rows += rows
        if len(self._rows) >= _ROW_GROUP:
            self._write()

    def close(self) -> None:
        """Write what is left and the end of the file."""
        if self._rows:
            self._write()
        self._writer.close()

    def _write(self) -> None:
        import pyarrow

        self._writer.write_table(pyarrow.Table.from_pylist(self._rows, self._schema))
        self._rows = []


def _name(ordinal: int) -> str:
    return f"{ordinal:08d}"
