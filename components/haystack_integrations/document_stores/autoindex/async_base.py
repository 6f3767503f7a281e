"""The asynchronous half of the document stores: each method runs its synchronous twin in a thread."""

import asyncio
from typing import Any

from haystack import Document
from haystack.document_stores.types import DuplicatePolicy

from haystack_integrations.document_stores.autoindex.base import BM25DocumentStore


class AsyncBM25DocumentStore(BM25DocumentStore):
    """A document store whose methods can also be awaited; parameters and results are those of the synchronous twins."""

    async def close_async(self) -> None:
        """Asynchronous :meth:`close`."""
        await asyncio.to_thread(self.close)

    async def search_async(
        self, query: str, *, top_k: int = 10, filters: dict[str, Any] | None = None
    ) -> list[Document]:
        """Asynchronous :meth:`search`."""
        return await asyncio.to_thread(self.search, query, top_k=top_k, filters=filters)

    async def search_documents_async(
        self, query: str, *, top_k: int = 10, filters: dict[str, Any] | None = None
    ) -> list[Document]:
        """Asynchronous :meth:`search_documents`."""
        return await asyncio.to_thread(self.search_documents, query, top_k=top_k, filters=filters)

    async def count_documents_async(self) -> int:
        """Asynchronous :meth:`count_documents`."""
        return await asyncio.to_thread(self.count_documents)

    async def filter_documents_async(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Asynchronous :meth:`filter_documents`."""
        return await asyncio.to_thread(self.filter_documents, filters)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Asynchronous :meth:`write_documents`."""
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """Asynchronous :meth:`delete_documents`."""
        await asyncio.to_thread(self.delete_documents, document_ids)

    async def delete_all_documents_async(self) -> None:
        """Asynchronous :meth:`delete_all_documents`."""
        await asyncio.to_thread(self.delete_all_documents)

    async def delete_by_filter_async(self, filters: dict[str, Any]) -> int:
        """Asynchronous :meth:`delete_by_filter`."""
        return await asyncio.to_thread(self.delete_by_filter, filters)

    async def update_by_filter_async(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Asynchronous :meth:`update_by_filter`."""
        return await asyncio.to_thread(self.update_by_filter, filters, meta)

    async def count_documents_by_filter_async(self, filters: dict[str, Any]) -> int:
        """Asynchronous :meth:`count_documents_by_filter`."""
        return await asyncio.to_thread(self.count_documents_by_filter, filters)

    async def count_unique_metadata_by_filter_async(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """Asynchronous :meth:`count_unique_metadata_by_filter`."""
        return await asyncio.to_thread(self.count_unique_metadata_by_filter, filters, metadata_fields)

    async def get_metadata_fields_info_async(self) -> dict[str, dict[str, str]]:
        """Asynchronous :meth:`get_metadata_fields_info`."""
        return await asyncio.to_thread(self.get_metadata_fields_info)

    async def get_metadata_field_min_max_async(self, metadata_field: str) -> dict[str, Any]:
        """Asynchronous :meth:`get_metadata_field_min_max`."""
        return await asyncio.to_thread(self.get_metadata_field_min_max, metadata_field)

    async def get_metadata_field_unique_values_async(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Asynchronous :meth:`get_metadata_field_unique_values`."""
        return await asyncio.to_thread(
            self.get_metadata_field_unique_values, metadata_field, search_term, from_, size, filters
        )
