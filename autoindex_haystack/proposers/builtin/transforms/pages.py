"""Pages: documents written in Markdown, a wiki, troff or with field tags, parsed into named parts.

It helps where headings, summaries or categories say what a page is about and code, options or references drown it; the
parts can then be kept, dropped or repeated like the fields of a record. One pass over the lines; markup vanishes.
"""

import re
from collections.abc import Iterable

from autoindex_haystack.proposers.builtin.transforms.fields import BODY, split_front_matter

UNDERLINE = re.compile(r"([=~^\"*-])\1{2,}[ \t]*")
WIKI_TITLE = re.compile(r"(={2,6})[ \t]*+([^=\n]*[^=\s])[ \t]*\1[ \t]*")
WIKI_SILENT = re.compile(
    r"<!--(?:(?!<!--).)*?-->|<ref\b[^<>]*/>|<ref\b(?:(?!<ref\b).)*?</ref>|\{\{[^{}\n]*\}\}|''+", re.DOTALL
)
WIKI_CATEGORY = re.compile(r"\[\[Category:([^\[\]|]+)(?:\|[^\[\]]*)?\]\]")
WIKI_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
WIKI_VALUE = re.compile(r"\|[ \t]*([\w-][\w -]{0,39}?)[ \t]*=[ \t]*(.*)")
MAN_ESCAPE = re.compile(
    r"\\(?:f(?:\([A-Z]{2}|\[[^\]\\\n]*\]|.)|s[-+]?\d|\*(?:\(..|\[[^\]\\\n]*\]|.)|\(..|\[[^\]\\\n]*\]|[&/,|^~:0% ])"
)
MAN_SILENT = frozenset(
    "PP P LP TP IP HP RS RE br sp nf fi ad na ne nh hy in ti ta ft ds de if ie el so TQ EX EE "
    "Pp Bl El It Bd Ed Os Dd Oo Oc".split()
)
TAGGED = re.compile(r"(?:([A-Z][A-Z0-9]{1,3}) {0,2}- |%([A-Z]) |\[([A-Za-z][\w ]{0,30})\](?:[ \t]+|$))")


def join_lines(lines: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Join neighbouring lines of one name into a field; fields without a word vanish."""
    fields: list[tuple[str, list[str]]] = []
    for name, line in lines:
        if fields and fields[-1][0] == name:
            fields[-1][1].append(line)
        else:
            fields.append((name, [line]))
    joined = ((name, "\n".join(values).strip()) for name, values in fields)
    return [(name, value) for name, value in joined if value]


def split_markdown(text: str) -> list[tuple[str, str]]:
    """Split a Markdown or reStructuredText page into front matter, title (the first heading), headings, code, body."""
    fields = split_front_matter(text) if text.startswith("---") else [(BODY, text)]
    page = fields.pop()[1] if fields[-1][0] == BODY else ""
    lines: list[tuple[str, str]] = []
    fence, heading = "", "title"
    for line in page.split("\n"):
        start = line.lstrip()[:3]
        if start in ("```", "~~~") and fence in ("", start):
            fence = "" if fence else start
        elif fence:
            lines.append(("code", line))
        elif line[:1] == "#":
            lines += [(heading, line.strip("# \t\r")), (BODY, "")]
            heading = "heading"
        elif lines and lines[-1][0] == BODY and lines[-1][1].strip() and UNDERLINE.fullmatch(line):
            lines[-1:] = [(heading, lines[-1][1].strip()), (BODY, "")]
            heading = "heading"
        else:
            lines.append((BODY, line))
    return fields + join_lines(lines)


def split_wiki(text: str) -> list[tuple[str, str]]:
    """Split a wiki page into headings, values of its templates by their keys, categories and body."""
    text = WIKI_SILENT.sub("", text) if "{{" in text or "<" in text or "''" in text else text
    lines: list[tuple[str, str]] = []
    for line in text.split("\n"):
        heading = WIKI_TITLE.fullmatch(line) if line[:2] == "==" else None
        value = WIKI_VALUE.fullmatch(line) if line[:1] == "|" else None
        if heading:
            lines.append(("heading", heading[2]))
        elif value:
            lines.append((value[1], WIKI_LINK.sub(r"\1", value[2])))
        else:
            lines += [("category", name) for name in WIKI_CATEGORY.findall(line)]
            shown = WIKI_LINK.sub(r"\1", WIKI_CATEGORY.sub("", line)).strip("{}|*# \t")
            lines.append((BODY, shown))
    return join_lines(lines)


def split_man(text: str) -> list[tuple[str, str]]:
    """Split a manual page written in troff (man or mdoc) into the texts of its sections, named by their headings."""
    section, lines = BODY, []
    for line in text.split("\n"):
        if line[:1] not in (".", "'"):
            lines.append((section, line))
            continue
        macro, _, rest = line[1:].strip().partition(" ")
        rest = rest.replace('"', "").strip()
        if macro in ("TH", "Dt"):
            lines.append(("title", rest))
        elif macro in ("SH", "Sh"):
            section = rest.lower() or BODY
        elif macro[:2] != '\\"' and macro not in MAN_SILENT:
            lines.append((section, rest))
    return join_lines((name, MAN_ESCAPE.sub("", line).replace("\\-", "-").replace("\\e", "\\")) for name, line in lines)


def split_tagged(text: str) -> list[tuple[str, str]]:
    """Split a record with field tags, such as ``TI  - a title``, ``%T a title`` or ``[Title] a title``."""
    name, lines = BODY, []
    for line in text.split("\n"):
        tag = TAGGED.match(line)
        if tag:
            name = tag[1] or tag[2] or tag[3]
            lines.append((name, line[tag.end() :]))
        else:
            lines.append((name, line.strip()))
    return join_lines(lines)
