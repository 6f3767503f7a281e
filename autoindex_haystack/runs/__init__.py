"""Run folders: what a search leaves on disk."""

from autoindex_haystack.runs.folder import (
    RunFolder,
    RunInfo,
    RunResult,
    RunSettings,
    installed_versions,
    read_result,
)

__all__ = ["RunFolder", "RunInfo", "RunResult", "RunSettings", "installed_versions", "read_result"]
