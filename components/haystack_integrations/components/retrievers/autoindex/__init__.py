"""The retriever over the document stores of AutoIndex, and the way back from chunks to originals in other stores."""

from haystack_integrations.components.retrievers.autoindex.representation_retriever import RepresentationRetriever
from haystack_integrations.components.retrievers.autoindex.source_retriever import SourceRetriever

__all__ = ["RepresentationRetriever", "SourceRetriever"]
