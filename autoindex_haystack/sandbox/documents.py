"""The document file: what workers read documents from, laid out flat so that a document is found by its offset.

The file has no name: it is made and passed on as an open descriptor that can only be read, so nothing is left
behind and no program can change what another sees.
"""

import json
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.collection.types import Document
from autoindex_haystack.files import nameless_file
from autoindex_haystack.sandbox.worker.protocol import DOCUMENTS_HEAD


class DocumentFile:
    """Documents in one flat file, shared by all workers of all programs that run over them.

    :param documents: The documents; :meth:`write` puts others in their place.
    """

    def __init__(self, documents: Sequence[Document] = ()) -> None:
        self._file, self._reader = nameless_file()
        self.sizes: NDArray[np.int64] = np.empty(0, np.int64)
        self.document_ids: list[str] = []
        self.write(documents)

    def fileno(self) -> int:
        """Returns the descriptor that workers inherit."""
        return self._reader

    def __len__(self) -> int:
        return len(self.document_ids)

    def write(self, documents: Sequence[Document]) -> None:
        """Replace the file's documents. No worker may be reading. After an error there are none.

        :param documents: The documents.
        :raises ValueError: If a text is no Unicode or metadata no JSON, as TypeError may be, too.
        """
        self.sizes, self.document_ids = np.empty(0, np.int64), []
        head = DOCUMENTS_HEAD.size + 8 * (2 * len(documents) + 1)
        bounds = np.empty(2 * len(documents) + 1, np.uint64)
        bounds[0] = position = head
        self._file.seek(0)
        self._file.truncate()
        self._file.write(bytes(head))
        for i, document in enumerate(documents):
            text = document.text.encode("utf-8")
            metadata = json.dumps(document.metadata).encode("utf-8") if document.metadata else b""
            self._file.write(text)
            self._file.write(metadata)
            bounds[2 * i + 1] = position = position + len(text)
            bounds[2 * i + 2] = position = position + len(metadata)
        self._file.seek(0)
        self._file.write(DOCUMENTS_HEAD.pack(len(documents)))
        self._file.write(bounds.tobytes())
        self._file.flush()
        self.sizes = (bounds[2::2] - bounds[:-1:2]).astype(np.int64)
        self.document_ids = [document.doc_id for document in documents]

    def close(self) -> None:
        """Release the file. Closing twice is fine."""
        if not self._file.closed:
            self._file.close()
            os.close(self._reader)

    def __enter__(self) -> "DocumentFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
