"""``autoindex diff``: what changed from one program of a run to another."""

from pathlib import Path

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json
from autoindex_haystack.cli.text import one_line, printable

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@options.command(
    "diff",
    "autoindex diff my_run",
    "autoindex diff my_run 2.1 --against baseline",
    "autoindex diff my_run --best --json",
)
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("program", required=False)
@click.option("--best", is_flag=True, help="The program that is best on the validation queries, adopted or not.")
@click.option(
    "--against",
    metavar="parent|baseline|PROGRAM",
    help="What to compare with. Default: its parent for PROGRAM and --best, otherwise the baseline.",
)
@options.json_option
def command(run: Path, program: str | None, best: bool, against: str | None, as_json: bool) -> None:
    """Show what changed in PROGRAM of the run RUN, as a unified diff in colours.

    PROGRAM is a label such as 2.1 (iteration 2, candidate 1) or six or more digits of a hash. Without it, all that was
    learned is shown: the program that was adopted last, against the baseline.
    """
    from autoindex_haystack.report.changes import find_change

    if program is not None and best:
        msg = f"--best names a program as {one_line(program)} does; leave one of them out"
        raise click.UsageError(msg, click.get_current_context())
    change = find_change(run, program, best=best, against=against)
    if as_json:
        sides = {
            name: {key: getattr(tried, key) for key in ("label", "sha256", "fate", "idea", "value", "gain")}
            for name, tried in (("program", change.program), ("against", change.against))
        }
        print_json({**sides, "diff": change.lines})
        return
    tried = change.program
    gain = "" if tried.gain is None else f", {tried.gain:+.4f} against the baseline on validation"
    click.echo(f"{tried.label} ({tried.sha256[:12]}), {tried.fate}{gain}: {one_line(tried.idea)}")
    if not change.lines:
        click.echo(f"no difference from {change.against.label}")
    for line in change.lines:
        heading = line.startswith(("+++", "---"))
        click.echo(click.style(printable(line), fg=None if heading else _COLOURS.get(line[:1]), bold=heading))
