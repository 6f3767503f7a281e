"""The component that writes chunks to any document store and removes those that a document no longer has."""

from collections.abc import Iterator
from typing import Any

from haystack import Document, component
from haystack.components.writers import DocumentWriter
from haystack.document_stores.types import DuplicatePolicy

from haystack_integrations.common.autoindex import PROGRAM_SHA256, SOURCE_ID, SPLIT_ID

_SOURCES_A_FILTER = 500
"""Few enough for the limits that stores have on filters and on what one answer holds."""


@component
class RepresentationWriter(DocumentWriter):
    """Writes chunks of ``RepresentationPreprocessor`` to any document store, in the place of ``DocumentWriter``.

    When a document is indexed again with the policy OVERWRITE and has fewer chunks than before, the store would keep
    the old ones beyond. This writer deletes them after writing. The document stores of AutoIndex do so themselves and
    need only a ``DocumentWriter``. The store must be able to filter by ``meta.source_id`` and ``meta.split_id``.

    ### Usage example

    ```python
    from haystack import Document
    from haystack.document_stores.in_memory import InMemoryDocumentStore
    from haystack.document_stores.types import DuplicatePolicy
    from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor
    from haystack_integrations.components.writers.autoindex import RepresentationWriter

    store = InMemoryDocumentStore()
    preprocessor = RepresentationPreprocessor("my_run/frozen")
    writer = RepresentationWriter(store, policy=DuplicatePolicy.OVERWRITE)
    for content in ("A heated wing sheds ice. It needs power.", "A heated wing sheds ice."):
        chunks = preprocessor.run(documents=[Document(id="wing", content=content)])["documents"]
        writer.run(documents=chunks)
    assert store.count_documents() == len(chunks)
    preprocessor.close()
    ```
    """

    @component.output_types(documents_written=int)
    def run(self, documents: list[Document], policy: DuplicatePolicy | None = None) -> dict[str, int]:
        """Write chunks and delete those that their documents no longer have.

        :param documents: The chunks, all of a document in one call. Other documents are written as they are.
        :param policy: What to do with an id that is there already; what the component was created with when not given.
        :returns: A dictionary with the key ``documents_written``.
        """
        policy = self.policy if policy is None else policy
        # Not by super(): the decorator makes another class of this one.
        written: dict[str, int] = DocumentWriter.run(self, documents, policy)
        for filters in _stale(documents, policy):
            stale = self.document_store.filter_documents(filters)
            if stale:
                self.document_store.delete_documents([chunk.id for chunk in stale])
        return written

    @component.output_types(documents_written=int)
    async def run_async(self, documents: list[Document], policy: DuplicatePolicy | None = None) -> dict[str, int]:
        """Write chunks and delete those that their documents no longer have; otherwise the same as :meth:`run`.

        :param documents: The chunks, all of a document in one call. Other documents are written as they are.
        :param policy: What to do with an id that is there already; what the component was created with when not given.
        :returns: A dictionary with the key ``documents_written``.
        :raises TypeError: If the store has no asynchronous methods.
        """
        policy = self.policy if policy is None else policy
        written: dict[str, int] = await DocumentWriter.run_async(self, documents, policy)
        store: Any = self.document_store
        for filters in _stale(documents, policy):
            stale = await store.filter_documents_async(filters)
            if stale:
                await store.delete_documents_async([chunk.id for chunk in stale])
        return written


def _stale(documents: list[Document], policy: DuplicatePolicy) -> Iterator[dict[str, Any]]:
    """Filters that together match the chunks of the documents written that are left of older versions."""
    if policy != DuplicatePolicy.OVERWRITE:
        return
    counts: dict[str, int] = {}
    for chunk in documents:
        if PROGRAM_SHA256 in chunk.meta:
            source, count = chunk.meta[SOURCE_ID], chunk.meta[SPLIT_ID] + 1
            counts[source] = max(count, counts.get(source, 0))
    by_count: dict[int, list[str]] = {}
    for source, count in counts.items():
        by_count.setdefault(count, []).append(source)
    for count, sources in by_count.items():
        for begin in range(0, len(sources), _SOURCES_A_FILTER):
            yield {
                "operator": "AND",
                "conditions": [
                    {
                        "field": f"meta.{SOURCE_ID}",
                        "operator": "in",
                        "value": sources[begin : begin + _SOURCES_A_FILTER],
                    },
                    {"field": f"meta.{SPLIT_ID}", "operator": ">=", "value": count},
                ],
            }
