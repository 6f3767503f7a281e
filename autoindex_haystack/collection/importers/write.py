"""Writing an imported collection: corpus, queries, judgments, a split if there is one, and a README with the counts."""

import filecmp
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from autoindex_haystack.collection.importers.source import Source
from autoindex_haystack.collection.split import Split
from autoindex_haystack.collection.synthetic import synthetic_note, write_synthetic
from autoindex_haystack.collection.types import Document
from autoindex_haystack.errors import CollectionError
from autoindex_haystack.files import atomic_file, atomic_folder

_PROGRESS_EVERY = 2_000


@dataclass(frozen=True)
class Imported:
    """What was written.

    :param documents: How many documents there are.
    :param queries: How many queries there are.
    :param judgments: How many judgments with a grade above 0 there are.
    :param notes: One sentence for each thing that a user should know.
    """

    documents: int
    queries: int
    judgments: int
    notes: tuple[str, ...]


def write_collection(
    source: Source, out: Path, *, force: bool = False, progress: Callable[[int], None] | None = None
) -> Imported:
    """Write a collection, whole or not at all.

    :param source: The collection.
    :param out: The folder to write.
    :param force: Replace what is there.
    :param progress: Called with the number of documents written so far.
    :returns: The counts.
    :raises CollectionError: If there is no document, an id or a text is missing, or an id stands twice.
    :raises RunError: If the folder exists or cannot be written.
    """
    with atomic_folder(out, force=force) as folder:
        ids = _write_corpus(source, folder / "corpus.jsonl", progress)
        queries = dict(source.queries)
        notes: list[str] = []
        if source.synthetic:
            write_synthetic(folder, source.synthetic)
            notes.append(synthetic_note(source.synthetic))
        if queries:
            _write_queries(source, folder)
            notes += _notes(source, ids)
            if source.partition is not None:
                notes += _write_split(source, out.resolve().name, folder / "split.json")
        else:
            notes.append("There are no queries: `autoindex make-queries` makes some, or add your own.")
        judgments = sum(grade > 0 for query in queries.values() for grade in query.grades.values())
        imported = Imported(len(ids), len(queries), judgments, tuple(notes))
        (folder / "README.md").write_text(_readme(source, imported, out.resolve().name), encoding="utf-8")
    return imported


def write_corpus(documents: Iterable[Document], path: Path, progress: Callable[[int], None] | None = None) -> None:
    """Write the corpus file of a collection whose queries are there already.

    :param documents: The documents; the title is the metadata's ``title``.
    :param path: The file; one with the same content may be there.
    :param progress: Called with the number of documents written so far.
    :raises CollectionError: If there is no document, an id stands twice, or the file holds another corpus.
    :raises RunError: If the folder cannot be written.
    """
    with atomic_file(path) as temporary:
        _write_corpus(Source("", documents), temporary, progress)
        if path.exists() and not filecmp.cmp(temporary, path, shallow=False):
            msg = f"{path} holds another corpus; move it away, or learn on it as it is"
            raise CollectionError(msg)


def _write_corpus(source: Source, path: Path, progress: Callable[[int], None] | None) -> set[str]:
    ids: set[str] = set()
    with _lines(path) as write:
        for document in source.documents:
            if not document.doc_id:
                msg = f"document {len(ids) + 1} has no id; every document needs one"
                raise CollectionError(msg)
            if document.doc_id in ids:
                msg = f"document id {document.doc_id!r} stands twice; ids must be unique"
                raise CollectionError(msg)
            ids.add(document.doc_id)
            write(_record(document))
            if progress and len(ids) % _PROGRESS_EVERY == 0:
                progress(len(ids))
    if not ids:
        msg = "there is no document to import; check the path"
        raise CollectionError(msg)
    return ids


def _record(document: Document) -> dict[str, Any]:
    """A document as a line of the corpus file; half surrogate pairs, which no file can hold, become U+FFFD."""
    metadata = dict(document.metadata)
    title = metadata.pop("title", "")
    record = {"_id": document.doc_id, "title": whole_text(str(title or "")), "text": whole_text(document.text)}
    return {**record, "metadata": metadata} if metadata else record


def whole_text(text: str) -> str:
    """Returns a text in which half surrogate pairs are replaced."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _write_queries(source: Source, folder: Path) -> None:
    with _lines(folder / "queries.jsonl") as write:
        for query_id, query in source.queries.items():
            write({"_id": query_id, "text": whole_text(query.text)})
    with (folder / "qrels.tsv").open("w", encoding="utf-8", newline="\n") as stream:
        stream.write("query-id\tcorpus-id\tscore\n")
        for query_id, query in source.queries.items():
            for document, grade in query.grades.items():
                if any(character in name for name in (query_id, document) for character in "\t\r\n"):
                    msg = f"query {query_id!r}, document {document!r}: an id with a tab or a line end cannot be judged"
                    raise CollectionError(msg)
                stream.write(f"{query_id}\t{document}\t{grade}\n")


def _notes(source: Source, ids: set[str]) -> list[str]:
    """What a user should know of the judgments."""
    notes = []
    lost = sum(not any(grade > 0 for grade in query.grades.values()) for query in source.queries.values())
    if lost:
        notes.append(f"Queries without a relevant document: {lost}; they are left out of every evaluation.")
    missing = {d for query in source.queries.values() for d, grade in query.grades.items() if grade > 0} - ids
    if missing:
        notes.append(f"Relevant documents that the corpus lacks: {len(missing)}; they count as not found.")
    if len(missing) and not ids.intersection(d for query in source.queries.values() for d in query.grades):
        msg = f"no judged document is in the corpus, for example {min(missing)!r}; check that the ids are the same"
        raise CollectionError(msg)
    return notes


def _write_split(source: Source, name: str, path: Path) -> list[str]:
    """Write the queries of the partition as a split; those that have no judgment here cannot be part of it."""
    assert source.partition is not None
    judged = {q for q, query in source.queries.items() if any(grade > 0 for grade in query.grades.values())}
    parts = {part: tuple(q for q in ids if q in judged) for part, ids in source.partition.items()}
    left_out = sum(map(len, source.partition.values())) - sum(map(len, parts.values()))
    if not all(parts.values()):
        msg = "the partition names no judged query of this collection in one of its parts; check that it belongs to it"
        raise CollectionError(msg)
    Split(collection=name, validation=parts["validation"], held_out=parts["held_out"]).save(path)
    return [f"Queries of the partition that have no judgment here: {left_out}."] if left_out else []


def _readme(source: Source, imported: Imported, name: str) -> str:
    counts = [("documents", imported.documents), ("queries", imported.queries), ("judgments", imported.judgments)]
    lines = [f"# {name}", "", source.origin.strip(), "", "| what | how many |", "|---|---|"]
    lines += [f"| {what} | {count:,} |" for what, count in counts]
    if imported.notes:
        lines += ["", *(f"- {note}" for note in imported.notes)]
    if source.partition is not None:
        lines += ["", f"`split.json` has the given partition: `autoindex optimize {name} --split {name}/split.json`."]
    return "\n".join(lines) + "\n"


@contextmanager
def _lines(path: Path) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Give a function that writes one record a line."""
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        yield lambda record: _dump(record, stream)


def _dump(record: dict[str, Any], stream: IO[str]) -> None:
    stream.write(json.dumps(record, ensure_ascii=False) + "\n")
