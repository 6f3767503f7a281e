"""The documents of a store in the order in which an engine indexes them, at one moment."""

import json
from collections import OrderedDict
from collections.abc import Iterable
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from haystack import Document
from haystack.utils.filters import document_matches_filter
from numpy.typing import NDArray
from xxhash import xxh3_128

from autoindex_haystack.retrieval import ChunkTable
from haystack_integrations.common.autoindex import SPLIT_ID, source_id_of

_MASKS = 32
"""Filters whose result is kept; a boolean a document each."""


class ChunkRows:
    """Documents with content, those of one source together: the rows of an index.

    The order depends on ids and split ids only, not on when documents were written, so that every process that reads
    the same documents finds the same rows.

    :param documents: The documents of a store; those without content are left out.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        keyed = [
            (source_id_of(document), _split_id(document), document.id, document)
            for document in documents
            if document.content is not None
        ]
        keyed.sort(key=lambda row: row[:3])
        self.documents = [row[3] for row in keyed]
        sources = [row[0] for row in keyed]
        starts = [i for i, source in enumerate(sources) if i == 0 or sources[i - 1] != source]
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


def _split_id(document: Document) -> int:
    split_id = document.meta.get(SPLIT_ID)
    return split_id if isinstance(split_id, int) else 0
