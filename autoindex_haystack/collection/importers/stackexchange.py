"""Dumps of Stack Exchange sites: ``Posts.xml``, one row a post, read row by row.

Two tasks: find the answers to a question, or find the questions that a new one repeats, which users have marked.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from autoindex_haystack.collection.importers.source import Query, Source
from autoindex_haystack.collection.types import Document
from autoindex_haystack.errors import CollectionError

Task = Literal["answers", "duplicates"]

_QUESTION, _ANSWER, _DUPLICATE = "1", "2", "3"


def stackexchange_source(folder: Path, task: Task = "answers") -> Source:
    """Read a dump.

    :param folder: The folder of the dump, with ``Posts.xml`` and, for duplicates, ``PostLinks.xml``.
    :param task: ``answers``: documents are answers, queries the titles of their questions; the accepted answer has
        grade 2, others that were voted for have 1. ``duplicates``: documents are questions, queries the titles of those
        that were closed as duplicates, which themselves are no documents.
    :returns: The source.
    :raises CollectionError: If a file is missing or no XML.
    """
    posts = folder / "Posts.xml"
    name = folder.resolve().name
    if task == "answers":
        queries = _answered(posts)
        return Source(f"Answers from the Stack Exchange dump `{name}`.", _answers(posts), queries)
    repeated = _links(folder / "PostLinks.xml")
    queries = {
        row["Id"]: Query(_plain(row.get("Title", "")), dict.fromkeys(repeated[row["Id"]], 1))
        for row in _rows(posts)
        if row.get("PostTypeId") == _QUESTION and row.get("Id") in repeated
    }
    return Source(f"Questions from the Stack Exchange dump `{name}`.", _questions(posts, set(queries)), queries)


def _answered(posts: Path) -> dict[str, Query]:
    """The questions that have an answer with a vote, or an accepted one."""
    titles: dict[str, str] = {}
    accepted: dict[str, str] = {}
    grades: dict[str, dict[str, int]] = {}
    for row in _rows(posts):
        if row.get("PostTypeId") == _QUESTION:
            titles[row["Id"]] = _plain(row.get("Title", ""))
            if row.get("AcceptedAnswerId"):
                accepted[row["Id"]] = row["AcceptedAnswerId"]
        elif row.get("PostTypeId") == _ANSWER and int(row.get("Score") or 0) > 0:
            grades.setdefault(row.get("ParentId", ""), {})[row["Id"]] = 1
    for question, answer in accepted.items():
        grades.setdefault(question, {})[answer] = 2
    return {question: Query(title, grades[question]) for question, title in titles.items() if grades.get(question)}


def _answers(posts: Path) -> Iterator[Document]:
    for row in _rows(posts):
        if row.get("PostTypeId") == _ANSWER:
            yield Document(row["Id"], row.get("Body", ""))


def _questions(posts: Path, queries: set[str]) -> Iterator[Document]:
    for row in _rows(posts):
        if row.get("PostTypeId") == _QUESTION and row["Id"] not in queries:
            metadata = {"title": _plain(row.get("Title", "")), "tags": row.get("Tags", "")}
            yield Document(row["Id"], row.get("Body", ""), metadata)


def _links(path: Path) -> dict[str, list[str]]:
    """For each question that repeats others, those that it finally leads to."""
    found: dict[str, list[str]] = {}
    for row in _rows(path):
        if row.get("LinkTypeId") == _DUPLICATE:
            found.setdefault(row["PostId"], []).append(row["RelatedPostId"])
    return {question: sorted(ends) for question in found if (ends := _ends(question, found))}


def _ends(question: str, links: Mapping[str, list[str]]) -> set[str]:
    """Follow duplicates of duplicates; a circle leads nowhere."""
    ends: set[str] = set()
    seen, ahead = {question}, list(links[question])
    while ahead:
        current = ahead.pop()
        if current in seen:
            continue
        seen.add(current)
        if current in links:
            ahead += links[current]
        else:
            ends.add(current)
    return ends


def _rows(path: Path) -> Iterator[Mapping[str, str]]:
    """Read the rows of a dump's file, each forgotten before the next."""
    try:
        events = ET.iterparse(path, events=("start", "end"))
        _, root = next(events)
        for event, element in events:
            if event == "end" and element.tag == "row":
                if "Id" not in element.attrib:
                    msg = f"{path}: a row has no Id; check the file"
                    raise CollectionError(msg)
                yield dict(element.attrib)
                root.clear()
    except FileNotFoundError:
        msg = f"{path} does not exist; give the folder of a Stack Exchange dump"
        raise CollectionError(msg) from None
    except ET.ParseError as error:
        msg = f"{path} is broken ({error}); check that the dump is whole"
        raise CollectionError(msg) from None
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror}); check the file"
        raise CollectionError(msg) from error


def _plain(title: str) -> str:
    return " ".join(title.split())
