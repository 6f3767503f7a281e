"""The page of a run that has just ended: good to have, and never worth losing the run for."""

from pathlib import Path

from autoindex_haystack.cli.output import print_notes
from autoindex_haystack.cli.text import one_line


def add_report(run: Path) -> Path | None:
    """Write ``report.html`` into the folder of a finished run.

    :param run: The run folder.
    :returns: The file; None, with a note on stderr, when it could not be written.
    """
    try:
        from autoindex_haystack.report import write_report

        return write_report(run)
    except Exception as error:  # Whatever it is: the search is over and its result is safe.
        reason = one_line(str(error)) or type(error).__name__
        print_notes([f"No report was written ({reason}); try again with `autoindex report {run}`."])
        return None
