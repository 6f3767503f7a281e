"""What the tests of the work in blocks share: a program that can be poisoned, and a corpus in several files."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from autoindex_haystack.distributed.inputs import find_files, plan_blocks
from autoindex_haystack.frozen import ComponentSettings, FrozenComponent, new_manifest, write_frozen
from autoindex_haystack.program import Program

SENTENCES = """
from autoindex_haystack.program import BasePreprocessor, Chunk


class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        chunks = []
        for doc in docs:
            if "poison" in doc.text:
                raise ValueError("cannot swallow this")
            for i, sentence in enumerate(filter(None, map(str.strip, doc.text.split(".")))):
                text = f"{doc.metadata.get('title', '')} {sentence}".strip()
                chunks.append(Chunk(f"{doc.doc_id}_{i}", doc.doc_id, text, {"sentence": i}))
        return chunks
"""

WORDS = "wing ice engine shock nose heat lift drag flow plate jet the of über 飛行機".split()


def record(number: int, text: str | None = None) -> dict[str, object]:
    """A document made of few words, so that scores tie; one in 20 has no text."""
    words = [WORDS[(number * k * k + k) % len(WORDS)] for k in range(1, 4 + number % 9)]
    made = ". ".join(" ".join(words[i : i + 3]) for i in range(0, len(words), 3)) if number % 20 else ""
    title = f"{WORDS[number % 5]} {number % 7}" if number % 3 and number % 20 else ""
    metadata = {"year": 1950 + number % 9, "tags": ["a"]} if number % 2 else None
    return {"_id": f"d{number * 37 % 1000:04d}", "title": title, "text": made if text is None else text} | (
        {"metadata": metadata} if metadata else {}
    )


QUERIES = ["ice on the wing", "shock waves of a blunt nose", "über", "飛行機 engine", "lift drag", "nothing here"]


def write_lines(path: Path, records: list[object]) -> Path:
    lines = "".join((r if isinstance(r, str) else json.dumps(r, ensure_ascii=False)) + "\n" for r in records)
    data = lines.encode("utf-8")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture
def frozen(tmp_path: Path) -> FrozenComponent:
    settings = ComponentSettings(metadata_fields=("year",))
    program = Program(SENTENCES)
    return write_frozen(tmp_path / "frozen", new_manifest(program, {}, settings), program, {})


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """200 documents in two files."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    write_lines(folder / "a.jsonl", [record(n) for n in range(130)])
    write_lines(folder / "b.jsonl.gz", [record(n) for n in range(130, 200)])
    return folder


@pytest.fixture
def blocks_of() -> Callable[..., list[object]]:
    """Cut files into blocks."""
    return lambda *paths, size: plan_blocks(find_files(map(str, paths)), size)
