"""Evaluation: J(θ) of a program, metrics, significance, run files."""

from autoindex_haystack.evaluation.evaluate import (
    QuerySet,
    ResolvedProgram,
    choose_queries,
    evaluate,
    resolve_program,
)
from autoindex_haystack.evaluation.evaluator import Evaluator
from autoindex_haystack.evaluation.metrics import METRICS, OBJECTIVE, SMOOTH_RECALL, PerQuery, means, score_queries
from autoindex_haystack.evaluation.outcome import Begun, Evaluation
from autoindex_haystack.evaluation.run_file import write_per_query, write_run_file
from autoindex_haystack.evaluation.significance import (
    PairedDifference,
    SignFlips,
    paired_difference,
    sign_flip_p_value,
    studentized,
)

__all__ = [
    "METRICS",
    "OBJECTIVE",
    "SMOOTH_RECALL",
    "Begun",
    "Evaluation",
    "Evaluator",
    "PairedDifference",
    "PerQuery",
    "QuerySet",
    "ResolvedProgram",
    "SignFlips",
    "choose_queries",
    "evaluate",
    "means",
    "paired_difference",
    "resolve_program",
    "score_queries",
    "sign_flip_p_value",
    "studentized",
    "write_per_query",
    "write_run_file",
]
