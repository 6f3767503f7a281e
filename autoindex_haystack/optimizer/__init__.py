"""The optimizer: the loop of the paper, its selection rule and its events."""

from autoindex_haystack.optimizer.replay import replay
from autoindex_haystack.optimizer.resume import is_finished, resume
from autoindex_haystack.optimizer.search import optimize
from autoindex_haystack.optimizer.selection import TOLERANCE
from autoindex_haystack.optimizer.settings import SearchSettings

__all__ = ["TOLERANCE", "SearchSettings", "is_finished", "optimize", "replay", "resume"]
