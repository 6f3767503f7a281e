"""Run folders: what a search leaves on disk."""

from autoindex_haystack.runs.comparison import Comparison, QueryComparison, RankedDocument, read_comparison
from autoindex_haystack.runs.evidence import (
    MissedDocument,
    ProgramEvidence,
    RunStory,
    TransformStory,
    read_journal,
    tell,
)
from autoindex_haystack.runs.folder import (
    ParetoPoint,
    RunFolder,
    RunInfo,
    RunResult,
    RunSettings,
    installed_versions,
    read_info,
    read_result,
)

__all__ = [
    "Comparison",
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
    "installed_versions",
    "read_comparison",
    "read_info",
    "read_journal",
    "read_result",
    "tell",
]
