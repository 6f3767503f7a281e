"""The writer of chunks for document stores that know nothing of AutoIndex."""

from haystack_integrations.components.writers.autoindex.representation_writer import RepresentationWriter

__all__ = ["RepresentationWriter"]
