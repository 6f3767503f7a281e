"""Indexes that are changed in place: one writer at a time, any number of readers, and commits between them.

A chunk has an id of its own here, by which it is replaced and deleted. What was committed is durable and becomes
visible at once and whole, to all processes; readers keep the snapshot they hold. Engines that can do this offer it
through :func:`open_updatable`, so that nothing here imports Lucene.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from autoindex_haystack.errors import BackendError
from autoindex_haystack.retrieval.index import Index, get_backend
from autoindex_haystack.retrieval.settings import BM25Settings

_PAUSE = 0.05
"""Seconds between two tries to become the writer."""


class WriterBusy(BackendError):
    """Another writer has the index open, in this process or elsewhere."""


@dataclass(frozen=True, eq=False)
class KeyedChunks:
    """Chunks with ids of their own, in bulk and in any order.

    :param ids: The id of each chunk, no two the same.
    :param document_ids: The id of each chunk's document.
    :param positions: int64, shape (chunks,): the place of each chunk within its document.
    :param texts: The index text of each chunk.
    """

    ids: Sequence[str]
    document_ids: Sequence[str]
    positions: NDArray[np.int64]
    texts: Sequence[str]

    def __post_init__(self) -> None:
        lengths = len(self.ids), len(self.document_ids), len(self.positions), len(self.texts)
        if len(set(lengths)) > 1:
            msg = "{} ids, {} document ids, {} positions and {} texts".format(*lengths)
            raise ValueError(msg)
        if len(set(self.ids)) < len(self.ids):
            msg = "two chunks have the same id"
            raise ValueError(msg)

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of_texts(cls, ids: Sequence[str], texts: Sequence[str]) -> "KeyedChunks":
        """Make chunks of which each is a document by itself.

        :param ids: The ids of chunks and documents.
        :param texts: Their texts.
        :returns: The chunks.
        """
        return cls(ids, ids, np.zeros(len(ids), np.int64), texts)

    def take(self, rows: Sequence[int]) -> "KeyedChunks":
        """Returns some of the chunks.

        :param rows: Which ones.
        """
        documents, texts = self.document_ids, self.texts
        return KeyedChunks(
            [self.ids[row] for row in rows],
            [documents[row] for row in rows],
            self.positions[np.array(rows, np.int64)],
            [texts[row] for row in rows],
        )

    def digests(self) -> NDArray[np.int64]:
        """Returns a hash of each text; int64, shape (chunks,)."""
        hashes = [xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")) for text in self.texts]
        return np.array(hashes, np.uint64).view(np.int64)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """An index as one commit left it; it stays so, whatever is written meanwhile.

    :param index: Searches it. Chunks are numbered by document id (by code point), position and chunk id. It is closed
        when nobody holds it any more.
    :param chunk_ids: The id of each chunk.
    :param positions: int64, shape (chunks,): the place of each chunk within its document.
    :param digests: int64, shape (chunks,): the hash of each text, see :meth:`KeyedChunks.digests`.
    :param state: What the writer said of the commit.
    :param deleted: Chunks that were deleted or replaced and are not expunged yet: as long as there are any, scores
        differ a little from those of an index built anew.
    """

    index: Index
    chunk_ids: Sequence[str]
    positions: NDArray[np.int64]
    digests: NDArray[np.int64]
    state: str
    deleted: int


class ChunkWriter(ABC):
    """The one writer of an index; may be used from several threads.

    As a context manager it commits what is not committed yet on leaving, and drops it if there was an exception.
    """

    @abstractmethod
    def write(self, chunks: KeyedChunks) -> None:
        """Add chunks; those with the same ids go.

        :param chunks: The chunks.
        :raises BackendError: If they cannot be written.
        """

    @abstractmethod
    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Delete chunks; ids that are not there are passed over.

        :param chunk_ids: The ids.
        :raises BackendError: If the index cannot be written.
        """

    @abstractmethod
    def clear(self) -> None:
        """Delete all chunks.

        :raises BackendError: If the index cannot be written.
        """

    @abstractmethod
    def commit(self, *, expunge: bool = False, state: str = "") -> None:
        """Make everything so far durable, then visible.

        :param expunge: Whether to remove deleted and replaced chunks from the files first. Until that is done they
            count in the number of chunks and the average length; afterwards scores are those of an index built anew.
        :param state: What to say of this commit, for example of which version of the documents it is the index.
        :raises BackendError: If that fails; the commit before stays the newest.
        """

    @abstractmethod
    def rollback(self) -> None:
        """Drop everything since the last commit; the writer can be used further.

        :raises BackendError: If the index cannot be opened again.
        """

    @abstractmethod
    def close(self) -> None:
        """Drop everything since the last commit and let others write. Closing twice is fine."""

    @property
    @abstractmethod
    def uncommitted(self) -> bool:
        """Whether anything was written or deleted since the last commit."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and self.uncommitted:
                self.commit()
        finally:
            self.close()


class UpdatableIndex(ABC):
    """A BM25 index in a folder that is changed in place."""

    settings: BM25Settings

    @abstractmethod
    def open_writer(self) -> ChunkWriter:
        """Open the writer.

        :returns: The writer; close it.
        :raises WriterBusy: If there is another one.
        :raises BackendError: If the folder cannot be written.
        """

    def writer(self, *, wait: float = 0.0) -> ChunkWriter:
        """Become the only writer.

        :param wait: Seconds to wait for another writer to end.
        :returns: The writer; close it.
        :raises WriterBusy: If there is another one, in this process or elsewhere.
        :raises BackendError: If the folder cannot be written.
        """
        end = time.monotonic() + wait
        while True:
            try:
                return self.open_writer()
            except WriterBusy:
                if time.monotonic() >= end:
                    raise
                time.sleep(_PAUSE)

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Look at the newest commit.

        :returns: The snapshot; the same object as before if nothing was committed since.
        :raises BackendError: If the index cannot be read.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the newest snapshot; a folder that was made for the index is removed. Closing twice is fine."""

    def synchronize(self, chunks: KeyedChunks, *, state: str = "", expunge: bool = True, wait: float = 0.0) -> Snapshot:
        """Make the index hold exactly these chunks, writing only what differs, in one commit.

        :param chunks: All chunks that shall be there.
        :param state: What to say of the commit.
        :param expunge: Whether scores shall be those of an index built anew, see :meth:`ChunkWriter.commit`.
        :param wait: Seconds to wait for another writer to end.
        :returns: The snapshot of that commit, or a later one.
        :raises WriterBusy: If there is another writer.
        :raises BackendError: If the index cannot be written.
        """
        with self.writer(wait=wait) as writer:
            before = self.snapshot()
            changed, gone = differences(before, chunks)
            writer.delete(gone)
            writer.write(chunks.take(changed))
            if writer.uncommitted or state != before.state or (expunge and before.deleted):
                writer.commit(expunge=expunge, state=state)
        return self.snapshot()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def differences(snapshot: Snapshot, chunks: KeyedChunks) -> tuple[list[int], list[str]]:
    """Compare an index with the chunks that it shall hold.

    :param snapshot: The index as it is.
    :param chunks: All chunks that shall be there.
    :returns: The rows of chunks that are missing or different in the index, and the ids of chunks to delete.
    """
    index = snapshot.index
    owners = [index.document_ids[document] for document in index.documents.tolist()]
    there = dict(
        zip(
            snapshot.chunk_ids,
            zip(owners, snapshot.positions.tolist(), snapshot.digests.tolist(), strict=True),
            strict=True,
        )
    )
    wanted = zip(chunks.document_ids, chunks.positions.tolist(), chunks.digests().tolist(), strict=True)
    changed = [
        row for row, (key, value) in enumerate(zip(chunks.ids, wanted, strict=True)) if there.pop(key, None) != value
    ]
    return changed, list(there)


def open_updatable(backend: str, folder: Path | None, settings: BM25Settings) -> UpdatableIndex:
    """Open an index to change it in place, or make an empty one.

    :param backend: The engine's name; of the two engines, ``lucene`` can do this.
    :param folder: The index folder; a temporary one when not given.
    :param settings: BM25 parameters and analyzer; they must be those that the index was made with.
    :returns: The index.
    :raises BackendError: If the engine cannot do this, or the folder holds something else.

    ```python
    from autoindex_haystack.retrieval import BM25Settings
    from autoindex_haystack.retrieval.updatable import KeyedChunks, open_updatable

    with open_updatable("lucene", None, BM25Settings()) as index:
        with index.writer() as writer:
            writer.write(KeyedChunks.of_texts(["a", "b"], ["a heated wing", "a cold engine"]))
        snapshot = index.snapshot()
        [ranking] = snapshot.index.search(["wing tips"], top_k=10)
        assert [snapshot.chunk_ids[chunk] for chunk in ranking.chunks] == ["a"]
    ```
    """
    engine: Any = get_backend(backend)
    if not hasattr(engine, "updatable"):
        msg = f"an index of {backend} cannot be changed in place; build it anew or use the engine lucene"
        raise BackendError(msg)
    opened: UpdatableIndex = engine.updatable(folder, settings)
    return opened
