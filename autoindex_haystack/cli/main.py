"""The entry point: commands that are loaded when they are used, and one place that turns errors into exit codes.

Nothing heavy may be imported here: ``autoindex --help`` loads click and this file alone.
"""

import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib import import_module

import click

from autoindex_haystack.cli.flags import Flags, debug_option
from autoindex_haystack.cli.text import one_line, printable
from autoindex_haystack.errors import AutoIndexError, ProgramError

COMMANDS = {
    "demo": "Learn, freeze, index and search on the documentation of Python.",
    "import": "Make a collection of what other tools and benchmarks publish.",
    "make-queries": "Make queries for a corpus that has none.",
    "split": "Split a collection's queries into validation and held-out.",
    "optimize": "Search for the program that represents a collection best, and freeze it.",
    "runs": "List runs and how far they are.",
    "watch": "Look on while another process searches.",
    "prompts": "List or show what a language model is told by `optimize --proposer agents`.",
    "report": "Write a finished run as one HTML page.",
    "diff": "Show what changed from one program of a run to another.",
    "explain": "Tell why a run missed relevant documents and what came of it.",
    "compare": "Compare two frozen components on a collection, with paired tests.",
    "evaluate": "Measure how well a program represents a collection.",
    "index": "Build an index that Haystack and `autoindex search` open.",
    "search": "Search an index for one query or a file of queries.",
    "crosscheck": "Compare the bm25s and the Lucene engine on the same chunks.",
    "experiment": "Compare conditions over collections, seeds and splits, as tables and figures.",
    "transfer": "Tell what programs learned elsewhere are worth on a collection.",
    "freeze": "Freeze another program of a run than the one that was adopted.",
    "drift": "Tell whether new documents are like those that a component was learned on.",
    "verify": "Check a frozen component, or mend its pipelines after a move.",
    "doctor": "Check what this machine has and name the mending command.",
    "completion": "Print the script that completes commands in a shell.",
}
"""Every command with its short help, in the order of ``autoindex --help``."""

_MODULES = {"import": "importing", "make-queries": "make_queries"}
"""The modules of commands whose names cannot be those of modules."""

FAILED, WRONG_USE, INTERRUPTED, TERMINATED = 1, 2, 130, 143


class LazyGroup(click.Group):
    """A group that imports the module of a command only when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"autoindex_haystack.cli.{_MODULES.get(cmd_name, cmd_name)}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"autoindex {version('autoindex-haystack')}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    name="autoindex",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="\b\nExample:\n  autoindex demo\n\n`autoindex COMMAND --help` explains a command and shows an example.",
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Show the version."
)
def cli() -> None:
    """Learn how to represent documents for BM25, and freeze the result as a Haystack component."""


cli.params.append(debug_option())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    :param arguments: The arguments; those of the process when not given.
    :returns: 0 for success, 1 for a failed check or program, 2 for wrong use or bad input, 130 after Ctrl-C.
    """
    # Before anything imports Haystack: the command line never phones home.
    os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
    _clean_up_when_terminated()
    flags = Flags()
    try:
        code = cli.main(args=arguments, prog_name="autoindex", standalone_mode=False, obj=flags)
        return code if isinstance(code, int) else 0
    except (click.Abort, KeyboardInterrupt):
        _complain("interrupted", flags)
        return INTERRUPTED
    except Exception as error:  # The user gets a sentence, whatever it is.
        return _explain(error, flags)


def _explain(error: Exception, flags: Flags) -> int:
    """Say what went wrong in one sentence.

    :returns: The exit code.
    """
    match error:
        case click.exceptions.NoArgsIsHelpError():
            error.show()
            return error.exit_code
        case click.UsageError():
            command = error.ctx.command_path if error.ctx else "autoindex"
            _complain(f"{error.format_message().rstrip('.')}; see `{command} --help`", flags)
            return WRONG_USE
        case click.ClickException():
            _complain(error.format_message(), flags)
            return WRONG_USE
        case ProgramError():
            _complain(str(error.args[0]), flags, error.program_traceback)
            return error.exit_code
        case AutoIndexError():
            _complain(str(error), flags)
            return error.exit_code
        case OSError(strerror=str(reason)):
            _complain(f"{error.filename}: {reason}" if error.filename else reason, flags)
            return WRONG_USE
        case _:
            _complain(f"unexpected {type(error).__name__}: {error}; run it again with --debug to see more", flags)
            return FAILED


def _complain(sentence: str, flags: Flags, details: str = "") -> None:
    """Write one sentence to stderr, then details such as a program's own traceback; all of ours with --debug."""
    if flags.debug:
        click.echo(traceback.format_exc(), err=True)
    click.echo(f"Error: {one_line(sentence)}", err=True)
    if details.strip():
        click.echo(printable(details.rstrip()), err=True)


def _clean_up_when_terminated() -> None:
    """Let a SIGTERM unwind like an exception, so that temporary folders and workers do not outlive the process."""

    def leave(*_: object) -> None:
        sys.exit(TERMINATED)

    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, leave)
