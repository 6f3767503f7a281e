"""Relevance judgments: BEIR's tab-separated files and TREC's four columns."""

from pathlib import Path

from autoindex_haystack.collection.readers import find_file, read_lines
from autoindex_haystack.errors import CollectionError

Qrels = dict[str, dict[str, int]]
"""Query id to document id to grade; a grade above 0 is relevant."""


def qrels_files(folder: Path) -> list[Path]:
    """Find the judgments of a collection: ``qrels.tsv``, ``qrels.txt`` or every file in ``qrels/``.

    :param folder: The collection folder.
    :returns: The files, in the order of their names.
    :raises CollectionError: If there is none.
    """
    for name in ("qrels.tsv", "qrels.txt"):
        if path := find_file(folder, name):
            return [path]
    inside = folder / "qrels"
    files = sorted(p for p in inside.iterdir() if ".tsv" in p.suffixes or ".txt" in p.suffixes) if inside.is_dir() else []
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
        for number, line in read_lines(path):
            judgment = _parse(line, path, number)
            if judgment is None:
                continue
            query, document, grade = judgment
            known = qrels.setdefault(query, {}).setdefault(document, grade)
            if known != grade:
                msg = f"{path}, line {number}: query {query}, document {document} has grade {grade} here, {known} before"
                raise CollectionError(msg)
    return qrels


def _parse(line: str, path: Path, number: int) -> tuple[str, str, int] | None:
    """Read one line; None for a header."""
    cells = line.split("\t")
    if len(cells) == 1:
        cells = line.split()
    cells = [cell.strip() for cell in cells]
    if len(cells) == 3:
        query, document, grade = cells
    elif len(cells) == 4:
        query, _, document, grade = cells
    else:
        msg = f"{path}, line {number}: {len(cells)} columns; needed are query-id, corpus-id, score or TREC's four"
        raise CollectionError(msg)
    try:
        return query, document, int(grade)
    except ValueError:
        if number == 1:
            return None
        msg = f"{path}, line {number}: the grade {grade!r} is no whole number"
        raise CollectionError(msg) from None
