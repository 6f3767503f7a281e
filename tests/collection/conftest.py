"""Small collections, written as a user would write them."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

Records = Iterable[dict[str, Any]]
Write = Callable[..., Path]

DOCUMENTS = [
    {"_id": "0001", "title": "Wings", "text": "A heated wing sheds ice."},
    {"_id": "0002", "title": "", "text": "A cold engine starts slowly."},
    {"_id": "0003", "text": "Ailerons steer the roll."},
]
QUERIES = [{"_id": "q1", "text": "ice on wings"}, {"_id": "q2", "text": "cold start"}, {"_id": "q3", "text": "rolling"}]
QRELS = "query-id\tcorpus-id\tscore\nq1\t0001\t2\nq2\t0002\t1\nq3\t0003\t1\n"


def json_lines(records: Records) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a collection folder; what is not given is the small good one, None leaves a file out."""

    def make(
        corpus: Records | str | bytes | None = DOCUMENTS,
        queries: Records | str | bytes | None = QUERIES,
        qrels: str | bytes | None = QRELS,
        name: str = "small",
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        for file, content in (("corpus.jsonl", corpus), ("queries.jsonl", queries), ("qrels.tsv", qrels)):
            if content is None:
                continue
            data = content if isinstance(content, str | bytes) else json_lines(content)
            (folder / file).write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
        return folder

    return make


@pytest.fixture
def documents() -> list[dict[str, Any]]:
    """The records of the small corpus."""
    return [dict(record) for record in DOCUMENTS]
