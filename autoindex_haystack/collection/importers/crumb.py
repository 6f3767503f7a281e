"""CRUMB, the benchmark of the paper: its published files in the layout of Hugging Face, or downloaded.

Killingback and Zamani, "Benchmarking Information Retrieval Models on Complex Retrieval Tasks", 2025.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from autoindex_haystack.collection.importers.source import Query, Source, need, whole_grade
from autoindex_haystack.collection.importers.tables import read_table
from autoindex_haystack.collection.types import Document
from autoindex_haystack.errors import CollectionError

DATASET = "jfkback/crumb"
SPLITS = (
    "clinical_trial",
    "code_retrieval",
    "legal_qa",
    "paper_retrieval",
    "set_operation_entity_retrieval",
    "stack_exchange",
    "theorem_retrieval",
    "tip_of_the_tongue",
)
_CORPORA = "full_document_corpus", "passage_corpus"
"""Tasks that have only one corpus may have it under the second name."""

_QUERIES = "validation_queries", "evaluation_queries"

_SUFFIXES = (".parquet", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".json")


def crumb_source(split: str, folder: Path | None = None, partition: Path | None = None) -> Source:
    """Read one of the eight tasks, with full documents.

    :param split: The task's name.
    :param folder: A copy of the published files; downloaded with the package ``datasets`` when not given.
    :param partition: A JSON file: task to ``validation`` and ``evaluation`` to query ids.
    :returns: The source. Without a partition all queries of both published parts are in it.
    :raises CollectionError: If the files are not there, or the package is missing.
    """
    if split not in SPLITS:
        msg = f"CRUMB has no split {split!r}; it has {', '.join(SPLITS)}"
        raise CollectionError(msg)
    parts = None if partition is None else _partition(partition, split)
    queries: dict[str, Query] = {}
    for part in _QUERIES:
        for row in _rows(part, split, folder, needed=part == _QUERIES[-1]):
            # As the paper's own code does: the last of equal ids counts.
            queries[str(row["query_id"])] = _query(row)
    origin = (
        f"The task `{split}` of CRUMB ({DATASET}), full documents: "
        + (f"from the files in `{folder.name}`" if folder else "downloaded")
        + ". Julian Killingback and Hamed Zamani, Benchmarking Information Retrieval Models on Complex Retrieval "
        "Tasks, 2025. Labels that are fractions were rounded up."
    )
    return Source(origin, _documents(split, folder), queries, parts)


def _query(row: Mapping[str, Any]) -> Query:
    grades = row.get("full_document_qrels") or row.get("passage_qrels") or []
    return Query(str(row["query_content"]), {str(g["id"]): whole_grade(float(g["label"])) for g in grades})


def _documents(split: str, folder: Path | None) -> Iterator[Document]:
    found = False
    for corpus in _CORPORA:
        for row in _rows(corpus, split, folder, needed=corpus == _CORPORA[-1]):
            found = True
            yield Document(str(row["document_id"]), str(row["document_content"] or ""))
        if found:
            return


def _partition(path: Path, split: str) -> dict[str, tuple[str, ...]]:
    """The pinned partition of a task's queries."""
    try:
        parts = json.loads(path.read_text(encoding="utf-8"))[split]
        return {
            "validation": tuple(map(str, parts["validation"])),
            "held_out": tuple(map(str, parts["evaluation"])),
        }
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror}); give the file of the partition"
        raise CollectionError(msg) from error
    except (ValueError, KeyError, TypeError) as error:
        msg = f"{path} is no partition with validation and evaluation ids of {split}; give the published file"
        raise CollectionError(msg) from error


def _rows(config: str, split: str, folder: Path | None, *, needed: bool) -> Iterator[Mapping[str, Any]]:
    if folder is None:
        yield from _download(config, split, needed=needed)
        return
    files = _files(folder, config, split)
    if not files and needed:
        msg = (
            f"{folder} has no {config} of {split}: neither its README.md names the files nor are there such as "
            f"{config}/{split}-00000-of-00001.parquet or {config}/{split}.jsonl"
        )
        raise CollectionError(msg)
    for path in files:
        yield from read_table(path)


def _files(folder: Path, config: str, split: str) -> list[Path]:
    """Find the files of a part: as the dataset's README says, else where Hugging Face puts them."""
    patterns = _named_in_readme(folder, config, split)
    patterns += [f"{config}/{split}{rest}{suffix}" for suffix in _SUFFIXES for rest in ("", "-*", "/*")]
    for pattern in patterns:
        if found := sorted(folder.glob(pattern)):
            return found
    return []


def _named_in_readme(folder: Path, config: str, split: str) -> list[str]:
    """The paths that the front matter of the dataset's README gives for a part."""
    import yaml

    path = folder / "README.md"
    if not path.is_file():
        return []
    _, _, rest = path.read_text(encoding="utf-8", errors="replace").partition("---\n")
    try:
        head = yaml.safe_load(rest.partition("\n---")[0]) or {}
        found = [
            file["path"]
            for entry in head.get("configs", [])
            if entry["config_name"] == config
            for file in entry["data_files"]
            if file["split"] == split
        ]
    except (yaml.YAMLError, AttributeError, KeyError, TypeError):
        return []
    return [path for item in found for path in (item if isinstance(item, list) else [item])]


def _download(config: str, split: str, *, needed: bool) -> Iterator[Mapping[str, Any]]:
    datasets = need("datasets", "the package datasets", "downloading CRUMB without --from")
    try:
        rows = datasets.load_dataset(DATASET, config, split=split, streaming=True)
        yield from rows
    except (ValueError, OSError) as error:
        if needed:
            msg = f"{DATASET} {config} cannot be downloaded ({error}); copy its files and give their folder with --from"
            raise CollectionError(msg) from error
