"""Index folders as Haystack document stores: the store of an engine, opened by what the folder says of itself."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autoindex_haystack.errors import BackendError

if TYPE_CHECKING:
    from haystack import Document as HaystackDocument

    from autoindex_haystack.collection import Document
    from autoindex_haystack.retrieval import BM25Settings
    from haystack_integrations.common.autoindex.job_store import JobStore
    from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore, LuceneDocumentStore

COMPONENT = "component"
"""The folder within an index that holds the program it was built with, where that was not frozen before."""


def new_store(folder: Path, backend: str, settings: "BM25Settings") -> "Bm25sDocumentStore | LuceneDocumentStore":
    """Make the document store of an engine.

    :param folder: The store's folder.
    :param backend: ``bm25s`` or ``lucene``.
    :param settings: BM25 parameters and analyzer.
    :returns: The store.
    :raises BackendError: If there is no store for the engine.
    """
    from haystack_integrations.document_stores import autoindex

    stores = {store.backend: store for store in (autoindex.Bm25sDocumentStore, autoindex.LuceneDocumentStore)}
    if backend not in stores:
        msg = f"there is no document store for the engine {backend!r}; there are {', '.join(stores)}"
        raise BackendError(msg)
    return stores[backend](str(folder), **settings.model_dump(mode="json"))


def open_store(folder: Path) -> "Bm25sDocumentStore | LuceneDocumentStore | JobStore":
    """Open an index folder, whichever engine made it, as a whole or in blocks.

    :param folder: The folder.
    :returns: The store.
    :raises BackendError: If the folder holds no index or a damaged one.
    """
    from pydantic import ValidationError

    from autoindex_haystack.distributed.output import JOB

    if (folder / JOB).is_file():
        from haystack_integrations.common.autoindex.job_store import JobStore

        return JobStore(folder)
    from haystack_integrations.document_stores.autoindex.document_log import LogHeader
    from haystack_integrations.document_stores.autoindex.log_lines import decode_line

    try:
        with (folder / "documents.log").open("rb") as log:
            header = LogHeader.model_validate(decode_line(log.readline()))
    except (FileNotFoundError, NotADirectoryError):
        msg = f"{folder} holds no index; build one with `autoindex index`"
        raise BackendError(msg) from None
    except (OSError, ValueError, ValidationError) as error:
        msg = f"the index in {folder} cannot be read; build it anew ({type(error).__name__})"
        raise BackendError(msg) from error
    return new_store(folder, header.backend, header.settings)


def haystack_documents(documents: "Sequence[Document]") -> "list[HaystackDocument]":
    """Returns a corpus as Haystack's documents: content and, as meta, the title and the named fields.

    :param documents: The corpus.
    """
    from haystack import Document as HaystackDocument

    return [HaystackDocument(id=d.doc_id, content=d.text, meta=dict(d.metadata)) for d in documents]
