"""A change of the documents as one step, and what a call of a store comes to as such a step. Nothing here does it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from haystack import Document, logging
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy

from haystack_integrations.common.autoindex import SOURCE_META, copy_meta, make_document, stale_chunk_ids

logger = logging.getLogger(__name__)


@dataclass
class Transaction:
    """Changes that become visible together.

    :param deleted: Ids of documents that go first.
    :param written: Documents that come then, in the place of those with the same id.
    :param anew: Whether everything that was there before is void.
    """

    deleted: list[str] = field(default_factory=list)
    written: list[Document] = field(default_factory=list)
    anew: bool = False

    def __len__(self) -> int:
        return len(self.deleted) + len(self.written)


def plan_write(stored: Mapping[str, Document], documents: Iterable[Document], policy: DuplicatePolicy) -> Transaction:
    """Say what writing documents comes to.

    :param stored: The documents that are there, by id.
    :param documents: The documents to write.
    :param policy: What to do with an id that is there already; NONE means FAIL.
    :returns: Copies of the documents to write, and the chunks that become stale by it.
    :raises DuplicateDocumentError: If an id is there already and the policy is FAIL.
    """
    written: dict[str, Document] = {}
    deleted: dict[str, None] = {}
    for document in documents:
        before = written.get(document.id, stored.get(document.id))
        if before and policy == DuplicatePolicy.SKIP:
            logger.warning("ID '{document_id}' already exists", document_id=document.id)
            continue
        if before and policy != DuplicatePolicy.OVERWRITE:
            msg = f"ID '{document.id}' already exists."
            raise DuplicateDocumentError(msg)
        for stale in stale_chunk_ids(before, document):
            written.pop(stale, None)
            if stale in stored:
                deleted[stale] = None
        written[document.id] = copy_document(document)
    return Transaction([stale for stale in deleted if stale not in written], list(written.values()))


def plan_update(documents: Iterable[Document], meta: dict[str, Any]) -> Transaction:
    """Say what updating the meta of documents comes to.

    :param documents: The documents.
    :param meta: Fields to set; others stay.
    :returns: Copies of the documents with the fields set, also in the meta that first chunks keep of their document.
    """
    written = []
    for document in documents:
        updated = copy_meta(document.meta) | copy_meta(meta)
        if isinstance(source_meta := updated.get(SOURCE_META), dict):
            updated[SOURCE_META] = source_meta | copy_meta(meta)
        written.append(make_document(document, meta=updated))
    return Transaction(written=written)


def copy_document(document: Document) -> Document:
    """Returns a copy, so that what users do to their documents does not reach the store, nor the other way round."""
    return make_document(document, meta=copy_meta(document.meta))
