"""The retriever over the document stores of AutoIndex."""

from haystack_integrations.components.retrievers.autoindex.representation_retriever import RepresentationRetriever

__all__ = ["RepresentationRetriever"]
