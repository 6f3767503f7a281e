"""Files that other tools read: TREC run files (six columns, one line a ranked document) and metrics query by query."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from autoindex_haystack.errors import CollectionError
from autoindex_haystack.evaluation.metrics import METRICS, PerQuery
from autoindex_haystack.files import atomic_file

RUN_TAG = "autoindex"

_STEPS = 1_000_000
"""Steps of a written score from one whole number to the next."""


def write_run_file(path: Path, rankings: Mapping[str, Sequence[tuple[str, float]]], tag: str = RUN_TAG) -> None:
    """Write a run file, whole or not at all.

    :param path: The file.
    :param rankings: Query id to pairs of document id and score, best first. Evaluation tools order by score and break
        ties their own way, so scores are written with six decimals and, where they tie or were ordered by their
        rounded values, lowered so far that they fall with the rank.
    :param tag: The last column.
    :raises CollectionError: If an id holds white space, which the format cannot express.
    :raises RunError: If the file cannot be written.
    """
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for query, ranking in rankings.items():
            last = math.inf
            for rank, (document, score) in enumerate(ranking, start=1):
                last = min(round(score * _STEPS), last - 1)
                if len(query.split()) != 1 or len(document.split()) != 1:
                    msg = f"query {query!r}, document {document!r}: a run file cannot hold ids with white space"
                    raise CollectionError(msg)
                file.write(f"{query} Q0 {document} {rank} {last / _STEPS:.6f} {tag}\n")


def write_per_query(path: Path, scores: PerQuery) -> None:
    """Write every query's metrics, whole or not at all.

    :param path: The file: JSON lines when its name ends in ``.jsonl``, otherwise tab-separated with a header.
    :param scores: Query id to metric to value.
    :raises CollectionError: If an id holds a tab or a line end, which a tab-separated file cannot express.
    :raises RunError: If the file cannot be written.
    """
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        if path.suffix == ".jsonl":
            for query, values in scores.items():
                record = {"query_id": query, **{metric: values[metric] for metric in METRICS}}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
            return
        file.write("\t".join(("query_id", *METRICS)) + "\n")
        for query, values in scores.items():
            if any(character in query for character in "\t\r\n"):
                msg = f"query {query!r}: a tab-separated file cannot hold this id; let the name end in .jsonl"
                raise CollectionError(msg)
            file.write("\t".join((query, *(f"{values[metric]:.6f}" for metric in METRICS))) + "\n")
