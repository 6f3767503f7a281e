"""``autoindex verify``: is a frozen component still what was learned, and do its pipelines find it?"""

from pathlib import Path
from typing import Any

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json
from autoindex_haystack.cli.text import one_line


@options.command("verify", "autoindex verify my_run/frozen", "autoindex verify moved/frozen --relocate")
@click.argument("frozen", type=click.Path(exists=True, path_type=Path))
@click.option("--relocate", is_flag=True, help="Rewrite the paths in the pipelines for the place where FROZEN is now.")
@options.json_option
@click.pass_context
def command(ctx: click.Context, frozen: Path, relocate: bool, as_json: bool) -> None:
    """Check the frozen component in the folder FROZEN: its hashes, its program, its pipelines.

    Exit code 1 when something was changed or is missing. Nothing in the folder is run.
    """
    from autoindex_haystack.errors import FrozenError
    from autoindex_haystack.frozen import outdated, read_certificate, verify_frozen

    summary: dict[str, Any] = {"frozen": str(frozen.resolve()), "ok": False, "relocated": False}
    try:
        component, problems = verify_frozen(frozen, relocate=relocate)
    except FrozenError as error:
        if not as_json:
            raise
        print_json({**summary, "problems": [one_line(str(error))]})
        ctx.exit(error.exit_code)
    certificate = read_certificate(component.path)
    warnings = outdated(certificate) if certificate else []
    summary |= {
        "warnings": warnings,
        "ok": not problems,
        "relocated": relocate,
        "sha256": component.manifest.sha256,
        "program_sha256": component.manifest.program_sha256,
        "problems": problems,
    }
    if as_json:
        print_json(summary)
    else:
        _print(summary)
    ctx.exit(FrozenError.exit_code if problems else 0)


def _print(summary: dict[str, Any]) -> None:
    """Print the verdict for people: what is well on stdout, problems on stderr."""
    for problem in summary["problems"]:
        click.echo(f"Error: {one_line(problem)}", err=True)
    for warning in summary["warnings"]:
        click.echo(f"Warning: {one_line(warning)}", err=True)
    if summary["relocated"]:
        click.echo(f"the pipelines now name {summary['frozen']}")
    if summary["ok"]:
        click.echo(f"{summary['frozen']} is unchanged: component {summary['sha256']}")
