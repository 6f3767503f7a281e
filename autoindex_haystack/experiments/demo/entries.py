"""What a page of the demo corpus looks like: the layout that `help()` gives to a module, class or function.

Knows nothing of where the documentation was found.
"""

import inspect
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

_MIN_WORDS = 2  # "None." and "deprecated" tell nobody anything
_WORD = re.compile(r"[A-Za-z]{2,}")


@dataclass(frozen=True)
class Entry:
    """One documented name of the standard library.

    :param name: The dotted public name, e.g. `shutil.rmtree`; names of `builtins` stand alone, e.g. `str.split`.
    :param text: What `help()` shows of it.
    """

    name: str
    text: str


def is_public(name: str) -> bool:
    """Tell whether no part of a dotted name starts with an underscore."""
    return not any(part.startswith("_") for part in name.split("."))


def last_part(name: str) -> str:
    """Return what follows the last dot of a dotted name."""
    return name.rpartition(".")[2]


def clean_docstring(docstring: object) -> str:
    """Return a docstring without its indentation, or an empty string where it says too little to be worth a page.

    :param docstring: What `__doc__` holds: mostly a string, `None`, or the descriptor that computes one.
    """
    text = inspect.cleandoc(docstring).strip() if isinstance(docstring, str) else ""
    return text if len(_WORD.findall(text)) >= _MIN_WORDS else ""


def module_entry(name: str, docstring: str, classes: Iterable[str], functions: Iterable[str]) -> Entry:
    """Lay out the page of a module.

    :param name: Its public name.
    :param docstring: Its cleaned docstring.
    :param classes: The names of its classes.
    :param functions: The names of its functions.
    """
    synopsis, _, description = docstring.partition("\n\n")
    if "\n" in synopsis:
        heading, description = name, docstring
    else:
        heading = f"{name} - {synopsis}"
    sections = {
        "NAME": heading,
        "DESCRIPTION": description.strip("\n"),
        "CLASSES": _listing(classes),
        "FUNCTIONS": _listing(functions),
    }
    return Entry(name, "\n\n".join(f"{title}\n{_indented(body)}" for title, body in sections.items() if body))


def class_entry(name: str, heading: str, docstrings: Iterable[str], members: Iterable[str]) -> Entry:
    """Lay out the page of a class; what its methods do is told on their own pages.

    :param name: Its public name.
    :param heading: The `class` line and the signature of the constructor.
    :param docstrings: The cleaned docstrings of the class and of its constructor; empty ones are left out.
    :param members: The names of its documented methods and properties.
    """
    blocks = [text for text in docstrings if text]
    listing = _listing(members)
    if listing:
        blocks.append(f"Methods defined here:\n{_indented(listing)}")
    return Entry(name, heading + "\n" + _indented("\n\n".join(blocks)))


def function_entry(name: str, heading: str, docstring: str) -> Entry:
    """Lay out the page of a function, method or property.

    :param name: Its public name.
    :param heading: Its signature.
    :param docstring: Its cleaned docstring.
    """
    return Entry(name, heading + "\n" + _indented(docstring))


def _listing(names: Iterable[str]) -> str:
    return textwrap.fill(", ".join(names), 100, break_long_words=False, break_on_hyphens=False)


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")
