"""Retrievers of original documents by their chunks, over the stores of AutoIndex and over any other."""

from haystack_integrations.components.retrievers.autoindex.max_p_retriever import MaxPRetriever
from haystack_integrations.components.retrievers.autoindex.representation_retriever import RepresentationRetriever
from haystack_integrations.components.retrievers.autoindex.source_retriever import SourceRetriever

__all__ = ["MaxPRetriever", "RepresentationRetriever", "SourceRetriever"]
