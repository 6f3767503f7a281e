"""Writers of chunks for any document store, with or without the frozen program before them."""

from haystack_integrations.components.writers.autoindex.representation_indexer import RepresentationIndexer
from haystack_integrations.components.writers.autoindex.representation_writer import RepresentationWriter

__all__ = ["RepresentationIndexer", "RepresentationWriter"]
