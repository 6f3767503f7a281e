"""Run folders: what a search leaves on disk."""

from autoindex_haystack.runs.comparison import Comparison, QueryComparison, RankedDocument, read_comparison
from autoindex_haystack.runs.evaluations import Evaluations
from autoindex_haystack.runs.evidence import (
    MissedDocument,
    ProgramEvidence,
    RunStory,
    TransformStory,
    tell,
)
from autoindex_haystack.runs.folder import (
    START,
    ParetoPoint,
    RunFolder,
    RunInfo,
    RunResult,
    RunSettings,
    installed_versions,
    kept_program,
    read_info,
    read_result,
)
from autoindex_haystack.runs.journal import candidate_label, read_journal
from autoindex_haystack.runs.lock import is_at_work, refuse_at_work

__all__ = [
    "START",
    "Comparison",
    "Evaluations",
    "MissedDocument",
    "ParetoPoint",
    "ProgramEvidence",
    "QueryComparison",
    "RankedDocument",
    "RunFolder",
    "RunInfo",
    "RunResult",
    "RunSettings",
    "RunStory",
    "TransformStory",
    "candidate_label",
    "installed_versions",
    "is_at_work",
    "kept_program",
    "read_comparison",
    "read_info",
    "read_journal",
    "read_result",
    "refuse_at_work",
    "tell",
]
