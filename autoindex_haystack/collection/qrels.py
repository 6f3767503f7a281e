"""Relevance judgments: BEIR's tab-separated files and TREC's four columns."""

from pathlib import Path

from autoindex_haystack.collection.readers import find_file, read_lines
from autoindex_haystack.errors import CollectionError

Qrels = dict[str, dict[str, int]]
"""Query id to document id to grade; a grade above 0 is relevant."""

LARGEST_GRADE = 2**31 - 1
"""Evaluation tools count grades in 32 bits."""


def qrels_files(folder: Path) -> list[Path]:
    """Find the judgments of a collection: ``qrels.tsv``, ``qrels.txt`` or every file in ``qrels/``.

    :param folder: The collection folder.
    :returns: The files, in the order of their names.
    :raises CollectionError: If there is none.
    """
    for name in ("qrels.tsv", "qrels.txt"):
        if path := find_file(folder, name):
            return [path]
    inside = sorted((folder / "qrels").iterdir()) if (folder / "qrels").is_dir() else []
    files = [path for path in inside if ".tsv" in path.suffixes or ".txt" in path.suffixes]
    if not files:
        msg = f"{folder} has no judgments; add qrels.tsv (query-id, corpus-id, score) or qrels/*.tsv"
        raise CollectionError(msg)
    return files


def read_qrels(files: list[Path]) -> Qrels:
    """Read judgments and join those of several files.

    :param files: BEIR files (three tab-separated columns with a header) or TREC files (four columns).
    :returns: The judgments.
    :raises CollectionError: If a line has other columns, a grade is no whole number or judgments contradict each other.
    """
    qrels: Qrels = {}
    for path in files:
        for place, (number, line) in enumerate(read_lines(path)):
            query, document, cell = _columns(line, path, number)
            if place == 0 and not _is_number(cell):
                continue  # the header
            grade = _grade(cell, path, number)
            known = qrels.setdefault(query, {}).setdefault(document, grade)
            if known != grade:
                msg = (
                    f"{path}, line {number}: query {query}, document {document} has grade {grade} here, {known} "
                    "before; keep one of them"
                )
                raise CollectionError(msg)
    return qrels


def _columns(line: str, path: Path, number: int) -> tuple[str, str, str]:
    """Cut a line into query, document and grade."""
    cells = line.split("\t") if "\t" in line else line.split()
    cells = [cell.strip() for cell in cells]
    if len(cells) not in (3, 4):
        msg = f"{path}, line {number}: {len(cells)} columns; needed are query-id, corpus-id, score or TREC's four"
        raise CollectionError(msg)
    query, document, grade = cells[0], cells[-2], cells[-1]
    if not query or not document:
        msg = f"{path}, line {number}: an id is empty; needed are query-id, corpus-id, score or TREC's four columns"
        raise CollectionError(msg)
    return query, document, grade


def _grade(cell: str, path: Path, number: int) -> int:
    try:
        grade = int(cell)
    except ValueError:
        msg = f"{path}, line {number}: the grade {cell!r} is no whole number; write 1 or more for relevant, else 0"
        raise CollectionError(msg) from None
    if abs(grade) > LARGEST_GRADE:
        msg = f"{path}, line {number}: the grade {cell} is beyond {LARGEST_GRADE:,}; check which column has the grades"
        raise CollectionError(msg)
    return grade


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
