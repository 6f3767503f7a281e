"""``autoindex completion``: the script that completes commands, options and values in a shell."""

import click
from click.shell_completion import get_completion_class

from autoindex_haystack.cli import options
from autoindex_haystack.cli.main import cli
from autoindex_haystack.cli.output import print_json
from autoindex_haystack.errors import AutoIndexError

SHELLS = ("bash", "zsh", "fish")


@options.command("completion", "autoindex completion bash", "autoindex completion fish")
@click.argument("shell", type=click.Choice(SHELLS))
@options.json_option
def command(shell: str, as_json: bool) -> None:
    """Print the script with which SHELL completes commands, options and their values.

    In the start-up file of bash (4.4 or newer) or zsh: eval "$(autoindex completion bash)". For fish, write it to
    ~/.config/fish/completions/autoindex.fish.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    try:
        script = kind(cli, {}, "autoindex", "_AUTOINDEX_COMPLETE").source()
    except (OSError, RuntimeError) as error:  # click asks bash for its version.
        msg = f"{shell} cannot be asked for its version ({error}); install it, or use another shell"
        raise AutoIndexError(msg) from error
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        click.echo(script)
