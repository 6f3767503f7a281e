"""Aliases: the other names that records give for what they are about, added wherever the name is a document's title.

It helps in encyclopedias, catalogues and medical text, where several documents treat one thing and one of them tells
its other names. Names come from the fields that hold them and from phrases such as ``also known as``; they are learned
in ``calibrate``. The index grows by a few words a document.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

ALSO_CALLED = re.compile(
    r"\b(?:also (?:known|called|named|spelled|written|referred to)(?: as)?|a\.?k\.?a\.?|(?:Syn|SYN)(?:onyms?)?[.:])"
    r"[ :]+([^.;:()\[\]\n]{2,120})"
)
SEPARATOR = re.compile(r",|;|\bor\b|\band\b|\n")
MOST_ALIAS_BYTES = 4_000_000
MOST_ALIAS_WORDS = 4
MOST_NAMES = 50
"""Names that one document tells; one that lists more is a list, and each would be joined with each."""


def phrase_aliases(text: str) -> list[str]:
    """Returns the names that follow a phrase such as ``also known as``."""
    return [alias for names in ALSO_CALLED.findall(text) for alias in split_names(names)]


def split_names(names: str) -> list[str]:
    """Returns the short ones of names in a list."""
    found = (name.strip(" \"'“”{}*_") for name in SEPARATOR.split(names))
    return [name for name in found if name and len(name.split()) <= MOST_ALIAS_WORDS]


def field_aliases(fields: Sequence[tuple[str, str]], names: Collection[str]) -> list[str]:
    """Returns the values of the fields that hold other names."""
    return [" ".join(value.split()) for name, value in fields if name in names and value.strip()]


def learn_aliases(named: Iterable[tuple[str, list[str]]]) -> dict[str, str]:
    """Join the aliases of each name, and the name with the other aliases for each alias.

    :param named: Names and their aliases, from each document.
    :returns: Name in lower case to its other names, one a line; bounded in size.
    """
    others: dict[str, dict[str, None]] = defaultdict(dict)
    for name, told in named:
        given = list(dict.fromkeys(told))[:MOST_NAMES]
        if name and given:
            for one in (name, *given):
                others[one.lower()] |= {other: None for other in (name, *given) if other.lower() != one.lower()}
    kept: dict[str, str] = {}
    size = 0
    for name, names in sorted(others.items()):
        size += len(name) + sum(map(len, names)) + 16
        if size > MOST_ALIAS_BYTES:
            break
        kept[name] = "\n".join(list(names)[:20])
    return kept


def other_names(name: str, aliases: Mapping[str, str]) -> str:
    """Returns the other names of a name, each after a line break; empty when none are known."""
    found = aliases.get(name.lower())
    return f"\n{found}" if found else ""
