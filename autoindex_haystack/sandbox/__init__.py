"""Running untrusted programs in processes of their own. Nothing here ever runs a program in the host process."""

from autoindex_haystack.sandbox.documents import DocumentFile
from autoindex_haystack.sandbox.limits import Limits
from autoindex_haystack.sandbox.runner import ProgramOutput, ProgramRunner
from autoindex_haystack.sandbox.stability import check_stability

ISOLATION = ("fresh interpreter", "empty environment", "resource limits", "process group with a deadline")
"""The layers under which every program runs, as stated in results."""

__all__ = ["ISOLATION", "DocumentFile", "Limits", "ProgramOutput", "ProgramRunner", "check_stability"]
