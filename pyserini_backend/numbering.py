"""Numbering the chunks of an index whose files do not number them: one that is changed in place, or of other tools."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.errors import BackendError
from pyserini_backend.fields import DIGEST, DOCUMENT, ID, POSITION, from_field
from pyserini_backend.reader import LuceneReader, LuceneSegment


@dataclass(frozen=True)
class Numbering:
    """The chunks of one commit, in the order of document id (by code point), position and chunk id.

    :param ordinals: int64, shape (Lucene's documents,): the chunk that each is; -1 for deleted ones.
    :param chunk_ids: The id of each chunk.
    :param positions: int64, shape (chunks,): the place of each chunk within its document.
    :param digests: int64, shape (chunks,): the hash of each chunk's text; zeros where it is not known.
    :param documents: int64, shape (chunks,): the document of each chunk.
    :param document_ids: The ids of the documents.
    """

    ordinals: NDArray[np.int64]
    chunk_ids: list[str]
    positions: NDArray[np.int64]
    digests: NDArray[np.int64]
    documents: NDArray[np.int64]
    document_ids: list[str]


class Numberer:
    """Numbers the chunks of one commit after another; what it has read of a segment it does not read again."""

    def __init__(self) -> None:
        self._known: dict[bytes, _Segment] = {}

    def number(self, reader: LuceneReader) -> Numbering:
        """Number the chunks of a commit.

        :param reader: The commit. Where it does not say which document a chunk belongs to, each is one by itself.
        :returns: The numbering.
        :raises BackendError: If its documents have no ids.
        """
        parts = reader.segments()
        known = {part.key: self._known.get(part.key) or _read(part, reader) for part in parts}
        self._known = known  # Segments that were merged into others do not come back.
        segments = [known[part.key] for part in parts]
        keys = [key for segment in segments for key in segment.keys]
        live = reader.live()
        # Each segment is in order already, so this only merges them.
        starts = np.cumsum([0, *(len(segment.keys) for segment in segments)]).tolist()
        candidates = np.concatenate(
            [segment.order + start for segment, start in zip(segments, starts, strict=False)] or [np.empty(0, np.int64)]
        )
        order = sorted(candidates[live[candidates]].tolist(), key=keys.__getitem__)
        ordered = [keys[i] for i in order]
        new = [i for i, key in enumerate(ordered) if not i or ordered[i - 1][0] != key[0]]
        documents = np.zeros(len(order), np.int64)
        documents[new[1:]] = 1
        ordinals = np.full(reader.size, -1, np.int64)
        ordinals[order] = np.arange(len(order))
        digests = np.concatenate([segment.digests for segment in segments] or [np.empty(0, np.int64)])
        return Numbering(
            ordinals,
            [key[2] for key in ordered],
            np.array([key[1] for key in ordered], np.int64),
            digests[order] if order else digests[:0],
            np.cumsum(documents),
            [ordered[i][0] for i in new],
        )


def number_chunks(reader: LuceneReader) -> Numbering:
    """Number the chunks of one commit, see :meth:`Numberer.number`."""
    return Numberer().number(reader)


@dataclass(frozen=True)
class _Segment:
    """What is read of a segment.

    :param keys: The document id, position and chunk id of each of Lucene's documents, deleted ones too.
    :param order: int64, shape (keys,): the order of the keys.
    :param digests: int64, shape (keys,): the hash of each text.
    """

    keys: list[tuple[str, int, str]]
    order: NDArray[np.int64]
    digests: NDArray[np.int64]


def _read(part: LuceneSegment, reader: LuceneReader) -> _Segment:
    ids, owners = part.strings(ID), part.strings(DOCUMENT)
    if ids is None:
        msg = f"the Lucene index in {reader.folder} has no field `{ID}` with doc values, as Anserini writes it"
        raise BackendError(msg)
    if owners is None:
        owners = ids
    else:
        ids, owners = list(map(from_field, ids)), list(map(from_field, owners))
    positions, digests = (_numbers(part, field) for field in (POSITION, DIGEST))
    keys = list(zip(owners, positions.tolist(), ids, strict=True))
    return _Segment(keys, np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64), digests)


def _numbers(part: LuceneSegment, field: str) -> NDArray[np.int64]:
    numbers = part.numbers(field)
    return np.zeros(part.size, np.int64) if numbers is None else numbers
