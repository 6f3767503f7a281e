"""Queries for a corpus that has none: made from the documents themselves, and marked as synthetic everywhere."""

from autoindex_haystack.experiments.synthetic.known_items import known_items

__all__ = ["known_items"]
