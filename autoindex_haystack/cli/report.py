"""``autoindex report``: a finished run as one HTML page."""

from pathlib import Path

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json
from autoindex_haystack.cli.places import check_outputs


@options.command("report", "autoindex report my_run", "autoindex report my_run --out my_run.html")
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The page to write. Default: RUN/report.html, which is replaced.",
)
@options.force_option
@options.json_option
def command(run: Path, out: Path | None, force: bool, as_json: bool) -> None:
    """Write the finished run RUN as one HTML page that needs neither a network nor other files.

    It shows the figures with their intervals, the way of the search, every program with its changes, which queries were
    helped or hurt, what it cost, and how programs were isolated. Texts of queries and documents are in it: give it to
    those who may read these.
    """
    from autoindex_haystack.report import write_report

    check_outputs(out, inputs=[run], force=force)
    path = write_report(run, out)
    if as_json:
        print_json({"report": str(path.resolve()), "bytes": path.stat().st_size})
        return
    click.echo(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
