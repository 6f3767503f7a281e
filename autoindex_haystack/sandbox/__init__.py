"""Running untrusted programs in processes of their own. Nothing here ever runs a program in the host process."""

from autoindex_haystack.sandbox.blocks import Block, join_blocks
from autoindex_haystack.sandbox.documents import DocumentFile
from autoindex_haystack.sandbox.isolation import ISOLATIONS, Isolation, imported_ahead
from autoindex_haystack.sandbox.limits import NOTHING_SPENT, Limits, Spent
from autoindex_haystack.sandbox.past_failures import run_past_failures
from autoindex_haystack.sandbox.probe import layers_in_force
from autoindex_haystack.sandbox.runner import IsCancelled, ProgramOutput, ProgramRunner
from autoindex_haystack.sandbox.stability import check_same_output, check_stability, document_digests

__all__ = [
    "ISOLATIONS",
    "NOTHING_SPENT",
    "Block",
    "DocumentFile",
    "IsCancelled",
    "Isolation",
    "Limits",
    "ProgramOutput",
    "ProgramRunner",
    "Spent",
    "check_same_output",
    "check_stability",
    "document_digests",
    "imported_ahead",
    "join_blocks",
    "layers_in_force",
    "run_past_failures",
]
