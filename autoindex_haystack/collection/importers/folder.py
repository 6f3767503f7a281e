"""A folder of Markdown, HTML or text files, with questions and the files that answer them.

Files stay as they are, markup and all: making index text of them is what a representation program learns.
"""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from string import punctuation

from markdown_it import MarkdownIt

from autoindex_haystack.collection.importers.questions import read_questions
from autoindex_haystack.collection.importers.source import Source
from autoindex_haystack.collection.types import Document
from autoindex_haystack.errors import CollectionError

SUFFIXES = (".md", ".markdown", ".mdx", ".rst", ".txt", ".html", ".htm")

_HTML_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_FRONT_MATTER_TITLE = re.compile(r"^title:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?!\s*\n)(.*?)^(?:---|\.\.\.)[ \t]*$", re.MULTILINE | re.DOTALL)
_MARKDOWN = MarkdownIt().disable("inline")

_HEAD = 4_000
"""Characters of a file in which its title stands."""


def folder_source(folder: Path, questions: Path | None = None) -> Source:
    """Read the files of a folder and of all folders in it.

    :param folder: The folder; hidden files and folders are left out.
    :param questions: A CSV file, see :func:`.questions.read_questions`.
    :returns: The source; a document's id is its path from the folder on.
    :raises CollectionError: If there is no such file, or the questions name one that is not there.
    """
    if not folder.is_dir():
        msg = f"{folder} is no folder; give a folder of {', '.join(SUFFIXES)} files"
        raise CollectionError(msg)
    files = _files(folder)
    if not files:
        msg = f"{folder} has no {', '.join(SUFFIXES)} files; give a folder that has"
        raise CollectionError(msg)
    queries = {} if questions is None else read_questions(questions, {name: name for name in files})
    asked = f" and the questions in `{questions.name}`" if questions else ""
    return Source(f"The files of the folder `{folder.resolve().name}`{asked}.", _documents(files), queries)


def _files(folder: Path) -> dict[str, Path]:
    """The files by their path from the folder on, in the order of these."""
    found = {}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.suffix.lower() in SUFFIXES and path.is_file() and not any(part.startswith(".") for part in parts):
            found["/".join(parts)] = path
    return found


def _documents(files: dict[str, Path]) -> Iterator[Document]:
    for name, path in files.items():
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            msg = f"{path}, line {line}: not UTF-8 (byte 0x{error.object[error.start]:02x}); convert the file to UTF-8"
            raise CollectionError(msg) from None
        except OSError as error:
            msg = f"{path} cannot be read ({error.strerror}); check the file"
            raise CollectionError(msg) from error
        title = _title(path.suffix.lower(), text[:_HEAD].replace("\r\n", "\n"))
        yield Document(name, text, {"title": title} if title else {})


def _title(suffix: str, head: str) -> str:
    """The title as the file itself gives it, or nothing."""
    if suffix in (".html", ".htm"):
        found = _HTML_TITLE.search(head)
        return " ".join(html.unescape(found[1]).split()) if found else ""
    if suffix == ".txt":
        return ""
    if suffix == ".rst":
        return _rst_title(head.split("\n"))
    if front := _FRONT_MATTER.match(head):
        if found := _FRONT_MATTER_TITLE.search(front[1]):
            return found[1].strip("\"'")
        head = head[front.end() :]
    tokens = _MARKDOWN.parse(head)
    opens = [i for i, token in enumerate(tokens) if token.type == "heading_open"]
    titles = (tokens[i + 1].content for i in opens if tokens[i].tag == "h1" and tokens[i].level == 0)
    return " ".join(next(filter(str.strip, titles), "").split())


def _rst_title(lines: list[str]) -> str:
    """The title of a reStructuredText: the first line that is no comment, label or field, if it is underlined."""
    for i, line in enumerate(lines):
        below, last = [*lines[i + 1 : i + 3], "", ""][:2]
        if _is_adornment(line) and _is_adornment(last):
            return below.strip()
        if not line.strip() or line[0].isspace() or line.startswith((".. ", ":")) or line.strip() == "..":
            continue
        underlined = _is_adornment(below) and len(below.rstrip()) >= len(line.rstrip())
        return line.strip() if underlined and not _is_adornment(line) else ""
    return ""


def _is_adornment(line: str) -> bool:
    """Whether a line of reStructuredText can stand below a title."""
    marks = line.rstrip()
    return len(marks) > 1 and len(set(marks)) == 1 and marks[0] in punctuation
