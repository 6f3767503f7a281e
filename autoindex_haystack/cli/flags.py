"""The flags that every command has, kept where the entry point can see them even when parsing fails."""

from dataclasses import dataclass

import click


@dataclass
class Flags:
    """What was asked for anywhere on the command line.

    :param debug: Whether tracebacks are shown.
    """

    debug: bool = False


def _note_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Flags).debug = True


def debug_option() -> click.Option:
    """Returns the flag ``--debug``, which may stand before or after the command's name."""
    return click.Option(
        ["--debug"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_note_debug,
        help="Show the traceback of an error.",
    )
