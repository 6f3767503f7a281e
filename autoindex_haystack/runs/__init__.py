"""Run folders: what a search leaves on disk."""

from autoindex_haystack.runs.evidence import MissedDocument, ProgramEvidence, RunStory, TransformStory, tell
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
    "MissedDocument",
    "ParetoPoint",
    "ProgramEvidence",
    "RunFolder",
    "RunInfo",
    "RunResult",
    "RunSettings",
    "RunStory",
    "TransformStory",
    "installed_versions",
    "read_info",
    "read_result",
    "tell",
]
