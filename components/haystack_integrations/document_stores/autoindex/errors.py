"""The error of the document stores, which users of Haystack and of AutoIndex can both catch as their own."""

from haystack.document_stores.errors import DocumentStoreError

from autoindex_haystack.errors import BackendError


class StoreError(BackendError, DocumentStoreError):
    """A document store is damaged, cannot be written, or was made with other settings."""
