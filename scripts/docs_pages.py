"""Pages of the documentation that are made of others: of the README, of the changelog and of each command's help.

MkDocs calls the functions named ``on_…`` (see ``mkdocs.yml``).
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from autoindex_haystack.cli.main import COMMANDS, cli
from autoindex_haystack.cli.options import Command

CHECKOUT = Path(__file__).resolve().parents[1]

EXIT_CODES = """
## Exit code

| code | meaning |
|---|---|
| 0 | done |
| 1 | a check did not hold, or a program failed |
| 2 | wrong use, or input that cannot be used |
| 130, 143 | ended by Ctrl-C, by SIGTERM |
"""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the pages of the commands where the navigation says ``commands/``."""
    for section in config.nav or []:
        for entry in section.get("Reference", []):
            if entry.get("Commands") == "commands/":
                entry["Commands"] = [{f"autoindex {name}": page_of(name)} for name, _ in commands()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    pages = {
        "index.md": readme(),
        "changelog.md": (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8"),
        **{page_of(name): page(name, command) for name, command in commands()},
    }
    for place, content in pages.items():
        files.append(File.generated(config, place, content=content))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Write Sphinx's references in docstrings as code; ``~`` stands for the last part of a name."""
    html = re.sub(r":(?:attr|class|data|exc|func|meth|mod):(?=<code>)", "", html)
    return re.sub(r"<code>~[\w.]*?(\w+)</code>", r"<code>\1</code>", html)


def readme() -> str:
    """Returns the README with its links as they are from inside the site."""
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    return re.sub(r"\[([^]]+)\]\((?:examples|integrations|benchmarks)[^)]*\)", r"`\1`", text)


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yields every command with its name, those of groups too."""
    group = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(group, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", command.commands[inner]) for inner in command.list_commands(group))


def page_of(name: str) -> str:
    """Returns where a command's page is."""
    return f"commands/{name.replace(' ', '_')}.md"


def page(name: str, command: click.Command) -> str:
    """Write a command's page from its own help.

    :param name: The command's name.
    :param command: The command.
    :returns: The page in Markdown.
    """
    parent = click.Context(cli, info_name="autoindex", max_content_width=100)
    for part in name.split()[:-1]:
        parent = click.Context(cli, info_name=part, parent=parent)
    context = click.Context(command, info_name=name.rsplit(maxsplit=1)[-1], parent=parent)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    own = [record for option in command.get_params(context) if (record := option.get_help_record(context))]
    sections = command.sections(context) if isinstance(command, Command) else {"Options": own}
    parts = [
        f"# autoindex {name}",
        inspect.cleandoc(command.help or "").replace("\b\n", ""),
        "## Usage",
        f"```text\n{usage}\n```",
    ]
    if isinstance(command, click.Group):
        rows = [
            f"| [{inner}]({Path(page_of(f'{name} {inner}')).name}) | {member.get_short_help_str(200)} |"
            for inner, member in command.commands.items()
        ]
        parts += ["## Commands", "\n".join(["| command | what it does |", "|---|---|", *rows])]
    if example := getattr(command, "example", ()):
        parts += ["## Examples", "```bash\n" + "\n".join(example) + "\n```"]
    for title, records in sections.items():
        parts += [f"## {title}", *(f"`{names}`\n:   {_plain(text)}" for names, text in records)]
    parts.append(EXIT_CODES)
    return "\n\n".join(part.strip() for part in parts)


def _plain(text: Any) -> str:
    """Returns help text as Markdown that shows it as it is."""
    return re.sub(r"([\\*_<>\[\]])", r"\\\1", " ".join(str(text).split())) or "\\-"
