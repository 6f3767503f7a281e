"""A run as a page; tables and plots for people and papers."""

from autoindex_haystack.report.page import write_report
from autoindex_haystack.report.tables import as_csv, as_latex, as_markdown

__all__ = ["as_csv", "as_latex", "as_markdown", "write_report"]
