"""Document stores that bm25s or Lucene search, in memory or durably in a folder."""

from haystack_integrations.document_stores.autoindex.bm25s_document_store import Bm25sDocumentStore
from haystack_integrations.document_stores.autoindex.errors import StoreError
from haystack_integrations.document_stores.autoindex.lucene_document_store import LuceneDocumentStore

__all__ = ["Bm25sDocumentStore", "LuceneDocumentStore", "StoreError"]
