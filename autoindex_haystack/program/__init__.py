"""Representation programs: the contract they follow, their source and its static check, and the built-in ones."""

from autoindex_haystack.collection.types import Chunk, Document
from autoindex_haystack.program.contract import BasePreprocessor
from autoindex_haystack.program.reach import what_calibrate_reaches
from autoindex_haystack.program.source import (
    ALLOWED_MODULES,
    BUILTIN_NAMES,
    PROVIDED_MODULES,
    Problem,
    Program,
    builtin_program,
    check_source,
    missing_modules,
    read_program,
)

__all__ = [
    "ALLOWED_MODULES",
    "BUILTIN_NAMES",
    "PROVIDED_MODULES",
    "BasePreprocessor",
    "Chunk",
    "Document",
    "Problem",
    "Program",
    "builtin_program",
    "check_source",
    "missing_modules",
    "read_program",
    "what_calibrate_reaches",
]
