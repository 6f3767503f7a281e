"""Questions with what answers them, as people keep them: BEIR's files, or a CSV file that names documents."""

import csv
from collections.abc import Mapping
from pathlib import Path

from autoindex_haystack.collection.collection import read_queries
from autoindex_haystack.collection.importers.source import Query
from autoindex_haystack.collection.qrels import read_qrels
from autoindex_haystack.collection.readers import open_text
from autoindex_haystack.errors import CollectionError


def read_judged_queries(queries: Path | None, qrels: Path | None) -> dict[str, Query]:
    """Read queries and judgments in BEIR's layout.

    :param queries: The queries; None when there are none.
    :param qrels: The judgments; None when there are none.
    :returns: Query id to query.
    :raises CollectionError: If only one is given, or a file is missing or broken.
    """
    if queries is None and qrels is None:
        return {}
    if queries is None or qrels is None:
        msg = "queries and qrels belong together; give both files or none"
        raise CollectionError(msg)
    grades = read_qrels([qrels])
    return {query: Query(text, grades.get(query, {})) for query, text in read_queries(queries).items()}


def read_questions(path: Path, known: Mapping[str, str]) -> dict[str, Query]:
    """Read a CSV file with the columns ``question`` and ``file``, and if wanted ``grade`` and ``id``.

    :param path: The file. A question that several files answer has several rows, or the files separated by ``;``.
    :param known: What a file may be called, to its document id.
    :returns: Query id to query; ids are given in the order of the file where it has none.
    :raises CollectionError: If a column is missing or a named file does not exist; the message names the line.
    """
    texts: dict[str, str] = {}
    grades: dict[str, dict[str, int]] = {}
    ids: dict[str, str] = {}
    with open_text(path) as stream:
        rows = csv.DictReader(stream)
        columns = {str(name).strip().lower(): name for name in rows.fieldnames or []}
        if missing := {"question", "file"} - set(columns):
            msg = f"{path}, line 1: the column {min(missing)!r} is missing; needed are question and file"
            raise CollectionError(msg)
        for row in rows:
            where = f"{path}, line {rows.line_num}"
            cells = {name: (row[column] or "").strip() for name, column in columns.items()}
            question = cells["question"]
            if not question or not cells["file"]:
                msg = f"{where}: the question or the file is empty"
                raise CollectionError(msg)
            query = cells.get("id") or ids.setdefault(question, f"q{len(ids) + 1}")
            if texts.setdefault(query, question) != question:
                msg = f"{where}: the id {query!r} belongs to another question; give each question one id"
                raise CollectionError(msg)
            for name in filter(None, map(str.strip, cells["file"].split(";"))):
                grades.setdefault(query, {})[_known(name, known, where)] = _grade(cells.get("grade", ""), where)
    return {query: Query(text, grades[query]) for query, text in texts.items()}


def _known(name: str, known: Mapping[str, str], where: str) -> str:
    document = known.get(name.replace("\\", "/").removeprefix("./"))
    if document is None:
        msg = f"{where}: there is no file {name!r} in the folder; write its path from the folder on"
        raise CollectionError(msg)
    return document


def _grade(cell: str, where: str) -> int:
    if not cell:
        return 1
    try:
        return int(cell)
    except ValueError:
        msg = f"{where}: the grade {cell!r} is no whole number; write 1 or more for relevant, else 0"
        raise CollectionError(msg) from None
