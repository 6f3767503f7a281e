"""Fields: documents with structure, parsed into named parts that can be kept, dropped, repeated or used as the title.

It helps where fields differ in worth: dependencies, codes and bibliographic data drown what a query asks for. Parsing
is one pass over the text; dropping makes the index smaller, repeating makes it larger.
"""

import html
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

TAG = re.compile(r"<(/?)([A-Za-z][\w:.-]*)(?:\s[^<>]*)?(/?)>|<!--(?:(?!<!--).)*?-->|<[?!][^<>]*>", re.DOTALL)
KEY = re.compile(r"([A-Za-z][\w-]{0,40}):(?:[ \t]+|$)")
MARKER = re.compile(r"\.([A-Z])[ \t]*")
BODY = "body"
SILENT = ("script", "style")
EMPTY = frozenset("area base br col embed hr img input link meta param source track wbr".split())
"""Elements of HTML that are never closed."""


def as_texts(fields: Iterable[tuple[str, list[str]]]) -> list[tuple[str, str]]:
    """Join the lines of each field."""
    return [(name, "\n".join(lines)) for name, lines in fields]


def split_xml(text: str) -> list[tuple[str, str]]:
    """Split XML or HTML into the texts between tags, each named by its innermost element."""
    fields: list[tuple[str, str]] = []
    open_elements: list[str] = []
    depth: Counter[str] = Counter()
    position = 0

    def take(piece: str) -> None:
        name = open_elements[-1] if open_elements else BODY
        if piece.strip() and name not in SILENT:
            fields.append((name, html.unescape(piece).strip()))

    for tag in TAG.finditer(text):
        take(text[position : tag.start()])
        position = tag.end()
        closing, name, empty = tag[1], tag[2], tag[3]
        if name and closing and depth[name]:
            while (closed := open_elements.pop()) != name:
                depth[closed] -= 1
            depth[name] -= 1
        elif name and not closing and not empty and name.lower() not in EMPTY:
            open_elements.append(name)
            depth[name] += 1
    take(text[position:])
    return fields


def split_record(text: str) -> list[tuple[str, str]]:
    """Split ``Key: value`` lines; an indented line continues the value before it."""
    fields: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        key = KEY.match(line)
        if key:
            fields.append((key[1], [line[key.end() :]]))
        elif fields and line[:1] in (" ", "\t"):
            fields[-1][1].append(line.strip())
        else:
            fields.append((BODY, [line]))
    return as_texts(fields)


def split_marked(text: str) -> list[tuple[str, str]]:
    """Split a record whose fields begin with a line such as ``.T``; lines before the first marker are the body."""
    fields: list[tuple[str, list[str]]] = [(BODY, [])]
    for line in text.splitlines():
        marker = MARKER.fullmatch(line)
        if marker:
            fields.append((marker[1], []))
        elif line or fields[-1][1]:
            fields[-1][1].append(line)
    return [field for field in as_texts(fields) if field[1]]


def split_front_matter(text: str) -> list[tuple[str, str]]:
    """Split a page with front matter between two lines ``---`` into its keys and the body."""
    head = re.match(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|$)", text, re.DOTALL)
    if not head:
        return [(BODY, text)]
    return [*split_record(head[1]), (BODY, text[head.end() :])]


def join_fields(fields: Sequence[tuple[str, str]], dropped: Collection[str], repeated: Mapping[str, int]) -> str:
    """Write the fields that are kept as lines, some of them several times."""
    return "\n".join(value for name, value in fields if name not in dropped for _ in range(repeated.get(name, 1)))


def first_value(fields: Sequence[tuple[str, str]], name: str) -> str:
    """Returns the first value of a field on one line, without quotes; empty when there is none."""
    value = next((value for field, value in fields if field == name), "")
    return " ".join(value.split()).strip("\"'")
