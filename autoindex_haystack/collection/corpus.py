"""A corpus in one flat file: however many documents there are, a :class:`Document` exists only while it is looked at.

The file has no name: nothing is left behind whatever happens to this process. It holds for each document its text and
its metadata as JSON, in UTF-8, one after the other, then where each of them begins. Workers read the same file.
"""

import errno
import json
import mmap
import os
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, overload

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.collection.types import Document
from autoindex_haystack.errors import CollectionError
from autoindex_haystack.files import nameless_file

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True)
class Layout:
    """Where documents stand in a file.

    :param bounds: uint64, shape (2 × documents + 1,): where each document's text and its metadata begin, and where the
        last one ends.
    :param bounds_at: Where the bounds themselves stand in the file.
    :param document_ids: The ids of all documents.
    """

    bounds: NDArray[np.uint64]
    bounds_at: int
    document_ids: list[str]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """int64, shape (documents,): bytes of each document's text and metadata."""
        return np.diff(self.bounds[::2]).astype(np.int64)


def write_documents(file: BinaryIO, documents: Iterable[Document]) -> Layout:
    """Put documents into a file, in place of what it holds.

    :param file: The file.
    :param documents: The documents; each is forgotten when it is written.
    :returns: Where they stand.
    :raises ValueError: If a text is no Unicode or metadata no JSON, as TypeError may be, too.
    """
    file.seek(0)
    file.truncate()
    bounds, document_ids, position = array("Q", [0]), [], 0
    for document in documents:
        text = document.text.encode("utf-8")
        metadata = json.dumps(document.metadata).encode("utf-8") if document.metadata else b""
        file.write(text)
        file.write(metadata)
        position += len(text)
        bounds.append(position)
        position += len(metadata)
        bounds.append(position)
        document_ids.append(document.doc_id)
    numbers = np.frombuffer(bounds, np.uint64)
    file.write(numbers.tobytes())
    file.flush()
    return Layout(numbers, position, document_ids)


class Corpus(Sequence[Document]):
    """A sequence of documents that lie in a file, which goes with this object.

    :param documents: The documents; each is forgotten when it is written.
    :raises CollectionError: If there is no room for the file.
    :raises ValueError: If a text is no Unicode or metadata no JSON, as TypeError may be, too.

    ```python
    from autoindex_haystack.collection import Corpus, Document

    corpus = Corpus(Document(str(n), f"text {n}") for n in range(100_000))
    assert corpus[-1].text == "text 99999"
    ```
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, documents: Iterable[Document]) -> None:
        try:
            file, self._reader = nameless_file()
            weakref.finalize(self, os.close, self._reader)
            with file:
                self.layout = write_documents(file, documents)
        except OSError as error:
            if error.filename or error.errno not in _NO_ROOM:  # reading may fail, too
                raise
            msg = (
                f"the corpus cannot be kept in {tempfile.gettempdir()} ({error.strerror}); set TMPDIR to another folder"
            )
            raise CollectionError(msg) from error
        self._bytes = mmap.mmap(self._reader, 0, access=mmap.ACCESS_READ)

    @property
    def document_ids(self) -> list[str]:
        """The ids of all documents."""
        return self.layout.document_ids

    def fileno(self) -> int:
        """Returns a descriptor that can only read the file."""
        return self._reader

    def __len__(self) -> int:
        return len(self.layout.document_ids)

    @overload
    def __getitem__(self, i: int) -> Document: ...
    @overload
    def __getitem__(self, i: slice) -> list[Document]: ...
    def __getitem__(self, i: int | slice) -> Document | list[Document]:
        if isinstance(i, slice):
            return [self._document(at) for at in range(len(self))[i]]
        return self._document(range(len(self))[i])

    def __iter__(self) -> Iterator[Document]:
        return map(self._document, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __reduce__(self) -> tuple[type["Corpus"], tuple[list[Document]]]:
        return Corpus, (list(self),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} documents, {self.layout.bounds_at:,} bytes)"

    def _document(self, at: int) -> Document:
        begin, middle, end = self.layout.bounds[2 * at : 2 * at + 3].tolist()
        metadata = json.loads(self._bytes[middle:end]) if end > middle else {}
        return Document(self.layout.document_ids[at], self._bytes[begin:middle].decode("utf-8"), metadata)


def ids_of(documents: Sequence[Document]) -> list[str]:
    """Returns the ids of documents, without making any.

    :param documents: A corpus or a list.
    """
    return documents.document_ids if isinstance(documents, Corpus) else [document.doc_id for document in documents]
