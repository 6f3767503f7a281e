"""A collection that is always at hand: the documentation of the standard library, with questions people ask of it."""

from autoindex_haystack.experiments.demo.corpus import DemoCounts, write_collection

__all__ = ["DemoCounts", "write_collection"]
