"""The prompts: templates in the folder ``prompts``, one file a message."""

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoindex_haystack.proposers.base import ProposerState

if TYPE_CHECKING:
    import jinja2

_HEADER = ("{#-", "-#}")
_INCLUDED = re.compile(r'\{% include "(\w+)\.md\.j2" %\}')


@cache
def _environment() -> "jinja2.Environment":
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )


@cache
def folder() -> Path:
    """Returns the folder of the templates: in the installed package, or beside it in a checkout."""
    package = Path(str(files("autoindex_haystack")))
    inside = package / "prompts"
    return inside if inside.is_dir() else package.parent / "prompts"


def names() -> list[str]:
    """Returns the names of all prompts; parts that others include are left out."""
    return sorted(path.name.removesuffix(".md.j2") for path in folder().glob("[!_]*.md.j2"))


def header(name: str) -> str:
    """Returns the comment at a prompt's head, which says what it is for and what fills it.

    :param name: The prompt's name.
    """
    begin, end = _HEADER
    return " ".join(_read(name).partition(begin)[2].partition(end)[0].split())


def source(name: str) -> str:
    """Returns a prompt's template without its header, with those that it includes.

    :param name: The prompt's name.
    """
    text = _read(name).partition(_HEADER[1])[2]
    return _INCLUDED.sub(lambda found: source(found[1]), text)


def fill(name: str, **values: Any) -> str:
    """Fill a prompt.

    :param name: The prompt's name.
    :param values: What its header asks for.
    :returns: The text.
    """
    return _environment().get_template(f"{name}.md.j2").render(**values).strip()


def rules(state: ProposerState) -> dict[str, Any]:
    """Returns what both agents are told of the engine and of what counts.

    :param state: What there is to know.
    """
    number = len(state.collection.queries)
    return {
        "analyzer": state.collection.analyzer,
        "objective": state.objective,
        "max_growth": state.max_growth,
        "queries": number,
        "share": f"{100 / number:.1f}",
    }


def _read(name: str) -> str:
    return (folder() / f"{name}.md.j2").read_text(encoding="utf-8")
