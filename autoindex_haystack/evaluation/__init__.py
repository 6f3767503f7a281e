"""Evaluation: J(θ) of a program, metrics, significance, run files."""

from autoindex_haystack.evaluation.evaluator import Evaluation, Evaluator
from autoindex_haystack.evaluation.metrics import METRICS, OBJECTIVE, means, score_queries
from autoindex_haystack.evaluation.run_file import write_run_file
from autoindex_haystack.evaluation.significance import PairedDifference, paired_difference

__all__ = [
    "METRICS",
    "OBJECTIVE",
    "Evaluation",
    "Evaluator",
    "PairedDifference",
    "means",
    "paired_difference",
    "score_queries",
    "write_run_file",
]
