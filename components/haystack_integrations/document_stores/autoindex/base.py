"""What the document stores have in common, whatever engine searches them: the synchronous half."""

import threading
from pathlib import Path
from typing import Any, ClassVar, Self

from haystack import Document, default_from_dict, default_to_dict
from haystack.document_stores.types import DuplicatePolicy
from haystack.utils.filters import document_matches_filter

from autoindex_haystack.retrieval import BM25Settings
from haystack_integrations.common.autoindex import is_document_list
from haystack_integrations.common.autoindex.spans import span
from haystack_integrations.document_stores.autoindex import metadata
from haystack_integrations.document_stores.autoindex.committed_documents import CommittedDocuments
from haystack_integrations.document_stores.autoindex.document_log import DocumentLog, LogHeader
from haystack_integrations.document_stores.autoindex.index_cache import IndexCache, Indexes
from haystack_integrations.document_stores.autoindex.searchable import Searchable
from haystack_integrations.document_stores.autoindex.transaction import (
    Transaction,
    copy_document,
    plan_update,
    plan_write,
)


class BM25DocumentStore:
    """A document store over one of the engines; its subclasses name the engine and say how to use it.

    Documents are held in memory and, with a path, in a log on disk: when a call returns, what it wrote is durable. The
    engine's index is brought up to date by the first search after a change and kept beside the log for other processes.
    """

    backend: ClassVar[str]

    def __init__(self, path: str | None = None, *, k1: float = 1.5, b: float = 0.75, analyzer: str = "bm25s") -> None:
        """Create the store. Of a folder only the settings are read; the documents are read when they are needed.

        :param path: The folder that keeps documents and index, made at the first write; None keeps them in memory.
        :param k1: Saturation of term frequency.
        :param b: Strength of length normalization, 0 to 1.
        :param analyzer: Name of the analyzer.
        :raises StoreError: If the folder holds documents of another engine or with other settings.
        :raises ValueError: If a setting is unknown or out of its range.
        """
        self.path = None if path is None else str(path)
        self.settings = BM25Settings(k1=k1, b=b, analyzer=analyzer)
        folder = None if self.path is None else Path(self.path).absolute()
        header = LogHeader(backend=self.backend, settings=self.settings)
        self._stored = CommittedDocuments(None if folder is None else DocumentLog(folder, header))
        self._indexes: Indexes = self._make_indexes(folder)
        self._searchable: Searchable | None = None
        self._build_lock = threading.Lock()

    def to_dict(self) -> dict[str, Any]:
        """Serialize the store's parameters; the documents stay where they are.

        :returns: A dictionary that :meth:`from_dict` reads.
        """
        return default_to_dict(self, path=self.path, **self.settings.model_dump(mode="json"))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make a store from what :meth:`to_dict` gave.

        :param data: The dictionary.
        :returns: The store.
        """
        return default_from_dict(cls, data)

    def close(self) -> None:
        """Release the index and the files. The documents stay, and the store can be used further."""
        with self._build_lock:
            self._searchable = None
            self._indexes.close()
        self._stored.close()

    def _make_indexes(self, folder: Path | None) -> Indexes:
        return IndexCache(folder, self.backend, self.settings)

    def search(self, query: str, *, top_k: int = 10, filters: dict[str, Any] | None = None) -> list[Document]:
        """Find the chunks that match a query best.

        :param query: The query.
        :param top_k: How many chunks at most; may exceed what is stored.
        :param filters: Haystack filters, applied first: only chunks that match them compete.
        :returns: Copies of the chunks, best first; ``score`` is the raw BM25 score.
        :raises FilterError: If the filters are invalid.
        :raises BackendError: If the engine is missing or fails.
        """
        with span("search", backend=self.backend, of="chunks", top_k=top_k, filtered=bool(filters)) as traced:
            found = self._current().search(query, top_k, filters)
            traced.set_tag("autoindex.found", len(found))
        return found

    def search_documents(self, query: str, *, top_k: int = 10, filters: dict[str, Any] | None = None) -> list[Document]:
        """Find the documents whose best chunk matches a query best (MaxP).

        :param query: The query.
        :param top_k: How many documents at most; may exceed what is stored.
        :param filters: Haystack filters on chunks, applied first: only chunks that match them compete.
        :returns: The original documents, best first. ``score`` is that of the best chunk, which is in the meta under
            ``best_chunk``. A document without ``source_id`` in its meta stands for itself.
        :raises FilterError: If the filters are invalid.
        :raises BackendError: If the engine is missing or fails.
        """
        with span("search", backend=self.backend, of="documents", top_k=top_k, filtered=bool(filters)) as traced:
            found = self._current().search_documents(query, top_k, filters)
            traced.set_tag("autoindex.found", len(found))
        return found

    def count_documents(self) -> int:
        """Returns the number of documents stored, chunks counted one by one."""
        return len(self._matching(None))

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Find the documents that match filters.

        :param filters: Haystack filters; all documents when not given.
        :returns: Copies of the documents.
        :raises FilterError: If the filters are invalid.
        """
        return [copy_document(document) for document in self._matching(filters)]

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Write documents: all of them or, if there is an error, none.

        When the first chunk of a document is overwritten by one that ``RepresentationPreprocessor`` made, the chunks
        that the document no longer has are deleted with it.

        :param documents: The documents.
        :param policy: What to do with an id that is there already; NONE means FAIL.
        :returns: How many documents were written.
        :raises DuplicateDocumentError: If an id is there already and the policy is FAIL.
        :raises ValueError: If something else than documents is given, or a document cannot be stored as JSON.
        :raises StoreError: If the folder cannot be written.
        """
        if not is_document_list(documents):
            msg = "Please provide a list of Documents."
            raise ValueError(msg)
        with self._stored.writing() as stored:
            transaction = plan_write(stored, documents, policy)
            self._stored.commit(transaction)
        return len(documents) if policy == DuplicatePolicy.OVERWRITE else len(transaction.written)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents; ids that are not there are passed over.

        :param document_ids: The ids.
        :raises StoreError: If the folder cannot be written.
        """
        with self._stored.writing() as stored:
            found = [document_id for document_id in dict.fromkeys(document_ids) if document_id in stored]
            self._stored.commit(Transaction(deleted=found))

    def delete_all_documents(self) -> None:
        """Delete all documents.

        :raises StoreError: If the folder cannot be written.
        """
        with self._stored.writing():
            self._stored.clear()

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the documents that match filters.

        :param filters: Haystack filters.
        :returns: How many documents were deleted.
        :raises ValueError: If there are no filters.
        :raises FilterError: If the filters are invalid.
        :raises StoreError: If the folder cannot be written.
        """
        _need(filters)
        with self._stored.writing() as stored:
            found = [document.id for document in stored.values() if document_matches_filter(filters, document)]
            self._stored.commit(Transaction(deleted=found))
        return len(found)

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Update the meta of the documents that match filters.

        A first chunk carries the update on to the original document that retrievers return.

        :param filters: Haystack filters.
        :param meta: Fields to set; others stay.
        :returns: How many documents were updated.
        :raises ValueError: If there are no filters.
        :raises FilterError: If the filters are invalid.
        :raises StoreError: If the folder cannot be written.
        """
        _need(filters)
        with self._stored.writing() as stored:
            found = [document for document in stored.values() if document_matches_filter(filters, document)]
            self._stored.commit(plan_update(found, meta))
        return len(found)

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Returns the number of documents that match filters.

        :param filters: Haystack filters; all documents count when they are empty.
        """
        return len(self._matching(filters))

    def count_unique_metadata_by_filter(self, filters: dict[str, Any], metadata_fields: list[str]) -> dict[str, int]:
        """Returns how many different values each field of meta has, by the field's name without ``meta.``.

        :param filters: Haystack filters; all documents count when they are empty.
        :param metadata_fields: The fields, with or without ``meta.``.
        """
        return metadata.count_unique(self._matching(filters), metadata_fields)

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """Returns the fields of meta, each with its ``type``: boolean, int, float or keyword."""
        return metadata.field_types(self._matching(None))

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """Returns the smallest and the largest value of a field of meta as ``min`` and ``max``, None where there is
        none.

        :param metadata_field: The field, with or without ``meta.``.
        """
        return metadata.min_max(self._matching(None), metadata_field)

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Returns a page of a field's different values, in the order of their text, and how many there are.

        :param metadata_field: The field, with or without ``meta.``.
        :param search_term: Only values whose text contains this, in upper or lower case.
        :param from_: The first value of the page.
        :param size: The page's length.
        :param filters: Haystack filters; all documents count when not given.
        """
        return metadata.unique_values(self._matching(filters), metadata_field, search_term, from_, size)

    def _current(self) -> Searchable:
        """The documents that are committed now with their index, made anew if they have changed since."""
        found = self._searchable
        if found and found.version == self._stored.version():
            return found
        with self._build_lock:
            found = self._searchable
            if found is None or found.version != self._stored.version():
                with span("index", backend=self.backend) as traced:
                    found = self._searchable = self._indexes.searchable(self._stored, found)
                    traced.set_tag("autoindex.chunks", len(found.rows))
            return found

    def _matching(self, filters: dict[str, Any] | None) -> list[Document]:
        """The documents themselves, not copies."""
        documents = self._stored.snapshot().documents
        if not filters:
            return documents
        return [document for document in documents if document_matches_filter(filters, document)]


def _need(filters: dict[str, Any]) -> None:
    if not filters:
        msg = "filters are needed; to mean all documents, use delete_all_documents or a filter that all match"
        raise ValueError(msg)
