"""Queries for a corpus that has none: made from the documents themselves, and marked as synthetic everywhere."""

from autoindex_haystack.experiments.synthetic.asked import asked_queries
from autoindex_haystack.experiments.synthetic.known_items import known_items

__all__ = ["asked_queries", "known_items"]
