"""The optimizer: the loop of the paper, its selection rule and its events."""

from autoindex_haystack.optimizer.mlflow_listener import MLflowListener
from autoindex_haystack.optimizer.replay import replay
from autoindex_haystack.optimizer.resume import is_finished, is_resumable, resume
from autoindex_haystack.optimizer.search import optimize
from autoindex_haystack.optimizer.selection import TOLERANCE
from autoindex_haystack.optimizer.settings import SearchSettings

__all__ = [
    "TOLERANCE",
    "MLflowListener",
    "SearchSettings",
    "is_finished",
    "is_resumable",
    "optimize",
    "replay",
    "resume",
]
