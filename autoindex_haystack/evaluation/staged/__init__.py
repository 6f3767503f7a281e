"""Staged evaluation: what a part of a large corpus says of a program, as an estimate and as a certain bound."""

from autoindex_haystack.evaluation.staged.bounds import most_scores
from autoindex_haystack.evaluation.staged.estimate import Estimate, estimate, recall_error
from autoindex_haystack.evaluation.staged.stage import Stage, choose_stage

__all__ = ["Estimate", "Stage", "choose_stage", "estimate", "most_scores", "recall_error"]
