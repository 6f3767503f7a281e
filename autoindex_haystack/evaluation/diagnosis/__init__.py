"""Diagnosis: why a relevant document is missed, computed from the parts of BM25; one enumeration for all who ask."""

from autoindex_haystack.evaluation.diagnosis.diagnosis import Diagnosis
from autoindex_haystack.evaluation.diagnosis.postings import QueryPostings, count_terms
from autoindex_haystack.evaluation.diagnosis.reasons import Miss, Reason

__all__ = ["Diagnosis", "Miss", "QueryPostings", "Reason", "count_terms"]
