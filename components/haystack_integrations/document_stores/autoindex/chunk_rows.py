"""The documents of a store in the order in which an engine indexes them, at one moment."""

import json
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from haystack import Document
from haystack.utils.filters import document_matches_filter
from numpy.typing import NDArray
from xxhash import xxh3_128

from autoindex_haystack.retrieval import ChunkTable
from autoindex_haystack.retrieval.updatable import KeyedChunks
from haystack_integrations.common.autoindex import SPLIT_ID, source_id_of

Key = tuple[str, int, str]
"""Source id, split id, document id."""

Changes = Iterable[tuple[Document | None, Document | None]]

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_MASKS = 32
"""Filters whose result is kept; a boolean a document each."""


class ChunkRows:
    """Documents with content, those of one source together: the rows of an index.

    The order depends on ids and split ids only, not on when documents were written, so that every process that reads
    the same documents finds the same rows.

    :param documents: The documents of a store; those without content are left out.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        kept = [document for document in documents if document.content is not None]
        keys = [_key(document) for document in kept]
        order = sorted(range(len(kept)), key=keys.__getitem__)
        self._set([keys[i] for i in order], [kept[i] for i in order])

    def changed(self, changes: Changes) -> "ChunkRows":
        """Make the rows of a later moment from these, quickly where little has changed.

        :param changes: What was there and what is there now, for all documents that changed.
        :returns: The rows, in the same order as if they had been made anew.
        """
        keys, documents = self._keys[:], self.documents[:]
        for before, now in changes:
            if before is not None and before.content is not None:
                row = bisect_left(keys, _key(before))
                del keys[row], documents[row]
            if now is not None and now.content is not None:
                row = bisect_left(keys, key := _key(now))
                keys.insert(row, key)
                documents.insert(row, now)
        rows = ChunkRows([])
        rows._set(keys, documents)
        return rows

    def _set(self, keys: list[Key], documents: list[Document]) -> None:
        self._keys = keys
        self.documents = documents
        sources = [key[0] for key in keys]
        starts = [i for i, (last, source) in enumerate(zip([None, *sources], sources, strict=False)) if last != source]
        self.first: NDArray[np.int64] = np.array(starts, np.int64)
        """int64, shape (sources,): the first row of each source."""
        self._sources = [sources[start] for start in starts]
        self._masks: OrderedDict[str, NDArray[np.bool_]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self.documents)

    def table(self) -> ChunkTable:
        """Returns the rows as an engine takes them; its documents are the sources."""
        counts = np.diff(self.first, append=len(self.documents))
        owners = np.repeat(np.arange(len(self.first), dtype=np.int64), counts)
        texts = [document.content or "" for document in self.documents]
        return ChunkTable(texts, owners, self._sources)

    def ids(self) -> list[str]:
        """Returns the id of each row's document."""
        return [key[2] for key in self._keys]

    @cached_property
    def digest(self) -> str:
        """Hash of all that the index depends on: ids, sources and texts in their order."""
        digest = xxh3_128()
        for document in self.documents:
            for part in (source_id_of(document), document.id, document.content or ""):
                encoded = part.encode("utf-8", "surrogatepass")
                digest.update(len(encoded).to_bytes(8, "little"))
                digest.update(encoded)
        return digest.hexdigest()

    def allowed(self, filters: dict[str, Any] | None) -> NDArray[np.bool_] | None:
        """Find the rows that match filters. The last results are kept, since most users filter by the same few values.

        :param filters: Haystack filters.
        :returns: bool, shape (rows,); None when there are no filters.
        :raises FilterError: If the filters are invalid.
        """
        if not filters:
            return None
        key = json.dumps(filters, sort_keys=True, default=repr)
        with self._lock:
            mask = self._masks.get(key)
            if mask is None:
                matches = (document_matches_filter(filters, document) for document in self.documents)
                mask = self._masks[key] = np.fromiter(matches, np.bool_, len(self.documents))
                if len(self._masks) > _MASKS:
                    self._masks.popitem(last=False)
            self._masks.move_to_end(key)
        return mask


def keyed_chunks(documents: Sequence[Document]) -> KeyedChunks:
    """Returns documents with content as an index takes them that is changed in place."""
    keys = [_key(document) for document in documents]
    texts = [document.content or "" for document in documents]
    positions = np.array([key[1] for key in keys], np.int64)
    return KeyedChunks([key[2] for key in keys], [key[0] for key in keys], positions, texts)


def same_chunk(one: Document | None, other: Document | None) -> bool:
    """Whether two documents are the same to an index: both nothing, or of the same place and text."""
    one, other = _indexed(one), _indexed(other)
    if one is None or other is None:
        return one is other
    return one.content == other.content and _key(one) == _key(other)


def _indexed(document: Document | None) -> Document | None:
    return None if document is None or document.content is None else document


def _key(document: Document) -> Key:
    """What the rows are ordered by."""
    split_id = document.meta.get(SPLIT_ID)
    position = max(_LOWEST, min(_HIGHEST, int(split_id))) if isinstance(split_id, int) else 0
    return source_id_of(document), position, document.id
