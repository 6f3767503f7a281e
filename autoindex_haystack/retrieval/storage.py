"""What every saved index holds beside its engine's own files: settings and which chunk belongs to which document."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from autoindex_haystack.errors import BackendError, RunError
from autoindex_haystack.files import atomic_folder
from autoindex_haystack.retrieval.settings import BM25Settings

FORMAT_VERSION = 1
_HEADER, _DOCUMENTS, _IDS = "index.json", "documents.npy", "document_ids.json"


class IndexHeader(BaseModel):
    """The file ``index.json``.

    :param norms: How lengths count, see :class:`autoindex_haystack.retrieval.bm25s_backend.Bm25sIndex`.
    :param first: Of a part of an index: how many chunks the parts before it have.
    """

    format_version: int
    backend: str
    settings: BM25Settings
    chunks: int
    versions: dict[str, str]
    norms: str = "exact"
    first: int = 0


@contextmanager
def index_folder(
    folder: Path,
    header: IndexHeader,
    documents: NDArray[np.int64],
    document_ids: Sequence[str],
) -> Iterator[Path]:
    """Write an index folder atomically; the engine adds its own files to the temporary folder it is given.

    :param folder: The final folder; it must not exist yet or be empty.
    :param header: What goes into ``index.json``.
    :param documents: int64, shape (chunks,): the document of each chunk.
    :param document_ids: The ids of all documents.
    :returns: A context manager that gives the temporary folder.
    :raises BackendError: If the folder exists or cannot be written.
    """
    try:
        with atomic_folder(folder) as temporary:
            np.save(temporary / _DOCUMENTS, documents)
            (temporary / _IDS).write_text(json.dumps(list(document_ids)), encoding="utf-8")
            yield temporary
            (temporary / _HEADER).write_text(header.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except (RunError, OSError) as error:
        msg = f"the index cannot be written to {folder}: {error}"
        raise BackendError(msg) from error


def read_header(folder: Path) -> IndexHeader:
    """Read ``index.json``.

    :param folder: The index folder.
    :returns: The header.
    :raises BackendError: If there is no complete index or its format is newer than this version.
    """
    try:
        header = IndexHeader.model_validate_json((folder / _HEADER).read_bytes())
    except FileNotFoundError:
        msg = f"{folder} holds no index; build one with `autoindex index`"
        raise BackendError(msg) from None
    except (OSError, ValidationError) as error:
        msg = f"{folder / _HEADER} cannot be read; build the index anew ({error})"
        raise BackendError(msg) from error
    if header.format_version != FORMAT_VERSION:
        msg = f"{folder} has index format {header.format_version}, this version reads {FORMAT_VERSION}; build it anew"
        raise BackendError(msg)
    return header


def read_index(folder: Path, backend: str) -> tuple[IndexHeader, NDArray[np.int64], list[str]]:
    """Read what all engines share of an index folder.

    :param folder: The index folder.
    :param backend: The engine that wants to open it.
    :returns: The header, the document of each chunk (int64, shape (chunks,)) and all document ids.
    :raises BackendError: If the index is missing, damaged or of another engine.
    """
    header = read_header(folder)
    if header.backend != backend:
        msg = f"{folder} is an index of {header.backend}, not of {backend}; open it with that engine"
        raise BackendError(msg)
    try:
        documents = np.load(folder / _DOCUMENTS, allow_pickle=False)
        ids = json.loads((folder / _IDS).read_text(encoding="utf-8"))
    except (OSError, ValueError, EOFError) as error:
        msg = f"the index in {folder} is damaged; build it anew ({error})"
        raise BackendError(msg) from error
    if not _fit(documents, ids, header.chunks):
        msg = f"the index in {folder} is damaged: its chunks and documents do not fit together; build it anew"
        raise BackendError(msg)
    return header, documents, ids


def read_parts(parts: Sequence[Path], backend: str) -> tuple[BM25Settings, NDArray[np.int64], list[str]]:
    """Read what all engines share of the parts of an index.

    :param parts: The folders of all parts, in order.
    :param backend: The engine that wants to open them.
    :returns: The settings, the document of each chunk of all parts (int64, shape (chunks,)) and all document ids.
    :raises BackendError: If a part is missing, damaged, of another engine or of another index than those before it.
    """
    owners: list[NDArray[np.int64]] = []
    ids: list[str] = []
    chunks, settings = 0, None
    for part in parts:
        header, documents, document_ids = read_index(part, backend)
        settings = settings or header.settings
        if header.settings != settings or header.first != chunks:
            msg = f"{part} is no part of the same index as those before it; build the parts anew"
            raise BackendError(msg)
        owners.append(documents + len(ids))
        ids += document_ids
        chunks += header.chunks
    if settings is None:
        msg = "an index needs at least one part"
        raise BackendError(msg)
    return settings, np.concatenate(owners), ids


def _fit(documents: NDArray[np.int64], ids: object, chunks: int) -> bool:
    """Whether every one of so many chunks belongs to a document, documents in order."""
    if documents.shape != (chunks,) or documents.dtype != np.int64 or not isinstance(ids, list):
        return False
    if not all(isinstance(name, str) for name in ids) or (np.diff(documents) < 0).any():
        return False
    return chunks == 0 or bool(documents[0] >= 0 and documents[-1] < len(ids))
