"""``autoindex doctor``: what this machine has, and what to type where something is missing."""

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.checks import CHECKS, MISSING
from autoindex_haystack.cli.output import print_json, progress
from autoindex_haystack.cli.text import printable


@options.command("doctor", "autoindex doctor")
@options.json_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Check Python, packages, isolation, both engines, Java and the LLM endpoint, and name the mending commands.

    Each engine really indexes and searches, and a program really runs in a worker. The Lucene engine with its Java and
    the LLM endpoint are optional; exit code 1 when something required is missing.
    """
    results = []
    with progress() as show:
        for number, check in enumerate(CHECKS):
            show("checking", number, len(CHECKS))
            result = check()
            results.append(result)
            if not as_json:
                show.say(f"{result.status:8} {result.name}: {printable(result.detail)}")
                if result.mend:
                    show.say(f"{'':8} mend it with: {result.mend}")
    ok = not any(result.status == MISSING and result.required for result in results)
    if as_json:
        print_json({"ok": ok, "checks": [result.as_json() for result in results]})
    ctx.exit(0 if ok else 1)
