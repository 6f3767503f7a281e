"""The document file: what workers read documents from, laid out flat so that a document is found by its offset.

It is passed on as an open descriptor that can only be read, so that no program can change what another sees.
"""

import os
from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.collection import Corpus, Document
from autoindex_haystack.collection.corpus import Layout, write_documents
from autoindex_haystack.errors import SandboxError
from autoindex_haystack.files import nameless_file


class DocumentFile:
    """Documents in one flat file, shared by all workers of all programs that run over them.

    :param documents: The documents. The file of a corpus is used as it is; others are written into a file, in whose
        place :meth:`write` puts others.
    """

    def __init__(self, documents: Sequence[Document] = ()) -> None:
        self._held = ExitStack()
        self._corpus = documents if isinstance(documents, Corpus) else None
        if isinstance(documents, Corpus):
            self._reader = documents.fileno()
            self._take(documents.layout)
            return
        self._file, self._reader = nameless_file()
        self._held.enter_context(self._file)
        self._held.callback(os.close, self._reader)
        self.write(documents)

    def fileno(self) -> int:
        """Returns the descriptor that workers inherit."""
        return self._reader

    def __len__(self) -> int:
        return len(self.document_ids)

    def write(self, documents: Sequence[Document]) -> None:
        """Replace the file's documents. No worker may be reading. After an error there are none.

        :param documents: The documents.
        :raises SandboxError: If the file is that of a corpus.
        :raises ValueError: If a text is no Unicode or metadata no JSON, as TypeError may be, too.
        """
        if self._corpus is not None:
            msg = "the file of a corpus cannot be written"
            raise SandboxError(msg)
        self._take(Layout(np.zeros(1, np.uint64), 0, []))
        self._take(write_documents(self._file, documents))

    def close(self) -> None:
        """Release the file. Closing twice is fine."""
        self._held.close()
        self._corpus = None

    def __enter__(self) -> "DocumentFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self, layout: Layout) -> None:
        self.sizes: NDArray[np.int64] = layout.sizes
        self.bounds_at: int = layout.bounds_at
        self.document_ids: list[str] = layout.document_ids
