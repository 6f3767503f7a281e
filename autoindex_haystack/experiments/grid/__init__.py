"""Experiments: collections × conditions × seeds × splits, one cell at a time, so that an interrupted one goes on."""

from autoindex_haystack.experiments.grid.cells import Cell, CellResult, cells_of, run_experiment
from autoindex_haystack.experiments.grid.spec import Condition, ExperimentSpec, read_spec
from autoindex_haystack.experiments.grid.summary import Summary, summarize

__all__ = [
    "Cell",
    "CellResult",
    "Condition",
    "ExperimentSpec",
    "Summary",
    "cells_of",
    "read_spec",
    "run_experiment",
    "summarize",
]
