"""What of a program ``calibrate`` can depend on, told from its text: programs that agree in it learn the same."""

from autoindex_haystack.program.reach.reach import what_calibrate_reaches

__all__ = ["what_calibrate_reaches"]
