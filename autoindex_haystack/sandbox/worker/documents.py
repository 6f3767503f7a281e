"""The document file as the worker reads it, by offset; it is written by :mod:`autoindex_haystack.sandbox.documents`."""

import json
import os

from .program import Document
from .protocol import BOUNDS, DOCUMENTS, DOCUMENTS_HEAD, opaque_id


class Documents:
    """The documents by ordinal.

    :param key: Key of the opaque ids.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __getitem__(self, ordinal: int) -> Document:
        begin, middle, end = self._bounds(ordinal)
        data = os.pread(DOCUMENTS, end - begin, begin)
        metadata = json.loads(data[middle - begin :]) if end > middle else {}
        return Document(self.name(ordinal), data[: middle - begin].decode("utf-8"), metadata)

    def name(self, ordinal: int) -> str:
        """Returns the id that the program sees for a document."""
        return opaque_id(self._key, ordinal)

    def size(self, ordinal: int) -> int:
        """Returns the bytes of text and metadata together."""
        begin, _, end = self._bounds(ordinal)
        return end - begin

    def metadata(self, ordinal: int) -> bytes:
        """Returns the metadata as it stands in the file."""
        _, middle, end = self._bounds(ordinal)
        return os.pread(DOCUMENTS, end - middle, middle)

    def _bounds(self, ordinal: int) -> tuple[int, int, int]:
        begin, middle, end = BOUNDS.unpack(os.pread(DOCUMENTS, BOUNDS.size, DOCUMENTS_HEAD.size + 16 * ordinal))
        return begin, middle, end
