"""A collection: corpus, queries and judgments, read from a folder in BEIR layout."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from autoindex_haystack.collection.corpus import Corpus, ids_of
from autoindex_haystack.collection.qrels import Qrels, qrels_files, read_qrels
from autoindex_haystack.collection.readers import find_file, read_records, string_field
from autoindex_haystack.collection.synthetic import read_synthetic, synthetic_note
from autoindex_haystack.collection.types import Document
from autoindex_haystack.errors import CollectionError
from autoindex_haystack.wording import counted

Progress = Callable[[int], None]
"""Called now and then with the number of documents read so far."""

_PROGRESS_EVERY = 2_000


@dataclass(frozen=True)
class Collection:
    """A corpus with judged queries.

    :param name: The folder's name.
    :param documents: The corpus in the order of its file.
    :param queries: Query id to text, for the queries with at least one relevant document, in the order of their file.
    :param qrels: Query id to document id to grade, for those queries. Documents that the corpus lacks are kept, so that
        they count in the denominator of recall.
    :param metadata_fields: The metadata fields that programs may see beside the title.
    :param unjudged_queries: Ids of queries left out because nothing is judged relevant for them.
    :param unknown_queries: Ids of judged queries that the query file lacks.
    :param missing_documents: Ids of documents judged relevant that the corpus lacks.
    :param synthetic: How the queries were made, when no person asked and judged them.
    """

    name: str
    documents: Sequence[Document]
    queries: dict[str, str]
    qrels: Qrels
    metadata_fields: tuple[str, ...] = ()
    unjudged_queries: tuple[str, ...] = ()
    unknown_queries: tuple[str, ...] = ()
    missing_documents: tuple[str, ...] = ()
    synthetic: str = ""

    @cached_property
    def document_ids(self) -> list[str]:
        """The ids of all documents, in corpus order."""
        return ids_of(self.documents)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over corpus, queries and judgments, as hexadecimal digits."""
        digest = hashlib.sha256()
        for document in self.documents:
            metadata = json.dumps(document.metadata, sort_keys=True, ensure_ascii=False)
            for part in (document.doc_id, document.text, metadata):
                encoded = part.encode("utf-8")
                digest.update(len(encoded).to_bytes(8, "little"))
                digest.update(encoded)
        digest.update(json.dumps([self.queries, self.qrels], sort_keys=True, ensure_ascii=False).encode("utf-8"))
        return digest.hexdigest()

    def notes(self) -> list[str]:
        """Returns one sentence for each thing about the collection that a user should know."""
        notes = [synthetic_note(self.synthetic)] if self.synthetic else []
        if unjudged := len(self.unjudged_queries):
            notes.append(
                counted(
                    unjudged,
                    "query has no relevant document and is left out.",
                    "queries have no relevant document and are left out.",
                )
            )
        if unknown := len(self.unknown_queries):
            notes.append(
                counted(
                    unknown,
                    "judged query is not in the query file and is left out.",
                    "judged queries are not in the query file and are left out.",
                )
            )
        if missing := len(self.missing_documents):
            notes.append(
                counted(
                    missing,
                    "relevant document is not in the corpus; it counts as not found.",
                    "relevant documents are not in the corpus; they count as not found.",
                )
            )
        return notes


def load_collection(
    folder: str | Path, *, metadata_fields: Iterable[str] = (), progress: Progress | None = None
) -> Collection:
    """Read a collection in BEIR layout.

    :param folder: A folder with ``corpus.jsonl``, ``queries.jsonl`` (plain, ``.gz`` or ``.zst``) and ``qrels.tsv``,
        ``qrels.txt`` or ``qrels/*.tsv``.
    :param metadata_fields: Names of metadata fields that programs may see. Others stay hidden: fields such as paths or
        sources can leak what is judged.
    :param progress: Called with the number of documents read so far.
    :returns: The collection.
    :raises CollectionError: If a file is missing or broken; the message names file and line.

    ```python
    from autoindex_haystack import load_collection

    collection = load_collection("my_collection")
    print(len(collection.documents), "documents,", len(collection.queries), "judged queries")
    ```
    """
    folder = Path(folder)
    if not folder.is_dir():
        msg = f"{folder} is no folder; give a folder with corpus.jsonl, queries.jsonl and qrels.tsv"
        raise CollectionError(msg)
    fields = tuple(metadata_fields)
    queries = read_queries(_need(folder, "queries.jsonl"))
    qrels = read_qrels(qrels_files(folder))
    documents = read_corpus(_need(folder, "corpus.jsonl"), fields, progress)
    return replace(_join(folder.resolve().name, documents, queries, qrels, fields), synthetic=read_synthetic(folder))


def load_corpus(path: str | Path, *, metadata_fields: Iterable[str] = (), progress: Progress | None = None) -> Corpus:
    """Read documents alone, from a corpus file or from the corpus of a collection folder.

    :param path: A JSON-lines file, or a folder with ``corpus.jsonl``.
    :param metadata_fields: Names of metadata fields that programs may see.
    :param progress: Called with the number of documents read so far.
    :returns: The documents.
    :raises CollectionError: If the file is missing or broken.
    """
    path = Path(path)
    return read_corpus(_need(path, "corpus.jsonl") if path.is_dir() else path, tuple(metadata_fields), progress)


def read_corpus(path: Path, metadata_fields: tuple[str, ...], progress: Progress | None = None) -> Corpus:
    """Read a corpus file; see :func:`load_corpus`."""
    wanted = set(metadata_fields)
    corpus = Corpus(_read_documents(path, metadata_fields, wanted, progress))
    if not corpus:
        msg = f"{path} has no documents; a corpus needs at least one"
        raise CollectionError(msg)
    if missing := sorted(wanted - {"title"}):
        msg = f"{path}: no document has the metadata field {missing[0]!r}; check --metadata-fields"
        raise CollectionError(msg)
    return corpus


def _read_documents(
    path: Path, metadata_fields: tuple[str, ...], wanted: set[str], progress: Progress | None
) -> Iterator[Document]:
    """Read documents one after the other; metadata fields that one has are taken from those wanted."""
    lines: dict[str, int] = {}
    for number, record in read_records(path):
        document = document_of(record, f"{path}, line {number}", metadata_fields)
        _refuse_known(document.doc_id, path, number, lines)
        wanted.difference_update(document.metadata)
        yield document
        if progress and len(lines) % _PROGRESS_EVERY == 0:
            progress(len(lines))


def document_of(record: Mapping[str, Any], where: str, metadata_fields: Sequence[str] = ()) -> Document:
    """Make a document of a record of a corpus.

    :param record: ``_id``, ``text`` and, if there are any, ``title`` and ``metadata``.
    :param where: Where the record stands, for the message.
    :param metadata_fields: Names of metadata fields that programs may see.
    :returns: The document.
    :raises CollectionError: If a field is missing or of the wrong type.
    """
    doc_id = _id_of(record, where)
    title = string_field(record, "title", where, default="")
    text = string_field(record, "text", where)
    given = record.get("metadata") or {}
    if not isinstance(given, dict):
        msg = f'{where}: the field "metadata" must be an object'
        raise CollectionError(msg)
    metadata = {name: given[name] for name in metadata_fields if name in given}
    title = title or (given["title"] if isinstance(given.get("title"), str) else "")
    if title:
        metadata["title"] = title
    return Document(doc_id, text, metadata)


def read_queries(path: Path) -> dict[str, str]:
    """Read a query file.

    :param path: JSON lines with ``_id`` and ``text``.
    :returns: Query id to text, in the order of the file.
    :raises CollectionError: If the file is broken, empty or repeats an id.
    """
    queries: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, record in read_records(path):
        where = f"{path}, line {number}"
        query_id = _id_of(record, where)
        _refuse_known(query_id, path, number, lines)
        queries[query_id] = string_field(record, "text", where)
    if not queries:
        msg = f"{path} has no queries; at least one is needed"
        raise CollectionError(msg)
    return queries


def _id_of(record: Mapping[str, Any], where: str) -> str:
    identifier = string_field(record, "_id", where)
    if not identifier:
        msg = f'{where}: the field "_id" is empty; give every record an id'
        raise CollectionError(msg)
    return identifier


def _refuse_known(identifier: str, path: Path, number: int, lines: dict[str, int]) -> None:
    """Check that a record's id is new."""
    first = lines.setdefault(identifier, number)
    if first != number:
        msg = f"{path}, line {number}: the id {identifier!r} was used before, on line {first}; ids must be unique"
        raise CollectionError(msg)


def _need(folder: Path, name: str) -> Path:
    path = find_file(folder, name)
    if path is None:
        questions = "; `autoindex make-queries` makes some to begin with" if name == "queries.jsonl" else ""
        msg = f"{folder} has no {name} (nor .gz, .zst); a collection needs it{questions}"
        raise CollectionError(msg)
    return path


def _join(name: str, documents: Corpus, queries: dict[str, str], qrels: Qrels, fields: tuple[str, ...]) -> Collection:
    """Keep the queries that have a relevant document and note what is left out or missing."""
    judged = [q for q in queries if any(grade > 0 for grade in qrels.get(q, {}).values())]
    if not judged:
        msg = f"collection {name}: no query has a relevant document (a grade above 0); check the ids in the qrels"
        raise CollectionError(msg)
    kept = {q: qrels[q] for q in judged}
    known = set(documents.document_ids)
    missing = {d for grades in kept.values() for d, grade in grades.items() if grade > 0 and d not in known}
    return Collection(
        name=name,
        documents=documents,
        queries={q: queries[q] for q in judged},
        qrels=kept,
        metadata_fields=fields,
        unjudged_queries=tuple(q for q in queries if q not in kept),
        unknown_queries=tuple(sorted(q for q in qrels if q not in queries)),
        missing_documents=tuple(sorted(missing)),
    )
