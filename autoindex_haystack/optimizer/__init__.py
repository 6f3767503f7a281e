"""The optimizer: the loop of the paper, its selection rule and its events."""

from autoindex_haystack.optimizer.search import SearchSettings, optimize
from autoindex_haystack.optimizer.selection import TOLERANCE

__all__ = ["TOLERANCE", "SearchSettings", "optimize"]
