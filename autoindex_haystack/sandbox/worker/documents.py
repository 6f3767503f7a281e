"""The document file as the worker reads it, by offset; it is written by :mod:`autoindex_haystack.collection.corpus`."""

import json
import os
import struct

from .program import Document
from .protocol import DOCUMENTS, opaque_id

_BOUND = 8
"""Bytes of a bound in the file."""

Raw = tuple[str, bytes, bytes]
"""The id that the program sees for a document, its text and its metadata as they stand in the file."""


class Documents:
    """The documents by ordinal.

    :param key: Key of the opaque ids.
    :param bounds_at: Where the bounds stand in the file, 2n + 1 uint64: where each text and each metadata begins, and
        where the last one ends.
    """

    def __init__(self, key: bytes, bounds_at: int) -> None:
        self._key, self._bounds_at = key, bounds_at

    def read(self, ordinals: list[int]) -> list[Raw]:
        """Read documents: neighbours, in either direction, with one call for all."""
        first, count = min(ordinals), len(ordinals)
        upwards = list(range(first, first + count))
        if count > 1 and ordinals not in (upwards, upwards[::-1]):
            return [raw for ordinal in ordinals for raw in self.read([ordinal])]
        found: list[Raw] = []
        start, *bounds = self._bounds(first, count)
        data = os.pread(DOCUMENTS, bounds[-1] - start, start)
        begin, pairs = start, iter(bounds)
        for ordinal, middle, end in zip(upwards, pairs, pairs, strict=True):
            text, metadata = data[begin - start : middle - start], data[middle - start : end - start]
            found.append((opaque_id(self._key, ordinal), text, metadata))
            begin = end
        return found if ordinals == upwards else found[::-1]

    def _bounds(self, first: int, count: int) -> tuple[int, ...]:
        """Where text and metadata of documents begin, and where the last one ends."""
        bounds = 2 * count + 1
        data = os.pread(DOCUMENTS, _BOUND * bounds, self._bounds_at + 2 * _BOUND * first)
        return struct.unpack(f"<{bounds}Q", data)


def as_document(raw: Raw) -> Document:
    """Make what the program is given."""
    name, text, metadata = raw
    return Document(name, text.decode("utf-8"), json.loads(metadata) if metadata else {})
