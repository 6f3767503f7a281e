"""The one function that every engine calls: rows of documents in, rows of chunks out, the program isolated."""

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from autoindex_haystack.collection import Document
from autoindex_haystack.collection.collection import document_of
from autoindex_haystack.distributed.inputs import Given, typed_record
from autoindex_haystack.errors import AutoIndexError, CollectionError, ProgramError
from autoindex_haystack.frozen import FrozenComponent
from autoindex_haystack.frozen.chunk_meta import chunk_fields
from autoindex_haystack.retrieval.analyzers import has_token
from autoindex_haystack.sandbox import Block, DocumentFile, Isolation, Limits, ProgramRunner, run_past_failures

OnError = Literal["raise", "row"]

Row = dict[str, Any]
"""A chunk: ``chunk_id``, ``doc_id``, ``text`` (None where a document has no index text) and ``meta`` as JSON."""

_BATCH_DOCUMENTS, _BATCH_CHARACTERS = 4_096, 16 << 20
_MOST_FAILURES = 500
"""Documents of a batch that are tried after as many have failed, each of which starts the workers anew."""


@dataclass
class Mapped:
    """What became of one document.

    :param where: Where it was found.
    :param doc_id: Its id; empty for what is no document.
    :param rows: Its chunks.
    :param failure: Why it has none.
    :param unreachable: Whether it had a token and none of its chunks has one.
    :param size: Bytes of its text.
    """

    where: str
    doc_id: str = ""
    rows: list[Row] = field(default_factory=list)
    failure: AutoIndexError | None = None
    unreachable: bool = False
    size: int = 0


class PartitionMapper:
    """A frozen program as a plain function over an iterator of rows. It can be pickled; the workers stay behind.

    Called, it starts workers and ends them with the last row. Within ``with`` they stay warm between calls.

    :param frozen: The component.
    :param limits: What the program may use for one document; ``seconds`` is for one call.
    :param workers: How many processes run the program side by side.
    :param isolation: ``full``, or ``process-only`` for programs that you trust.
    :param on_error: ``raise``, or ``row``: a document at which the program fails becomes a row with its error.
    """

    def __init__(
        self,
        frozen: FrozenComponent,
        *,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        workers: int = 1,
        isolation: Isolation = "full",
        on_error: OnError = "raise",
    ) -> None:
        self.frozen = frozen
        self._settings = frozen.manifest.settings
        # How much a program may make of a corpus was judged where it was learned; a partition is no corpus.
        self._limits = replace(limits, corpus_growth=None)
        self._workers, self._isolation, self._on_error = workers, isolation, on_error
        self._runner: ProgramRunner | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the workers; starting twice is fine.

        :raises ProgramError: If the program's module code fails.
        :raises SandboxError: If no worker can be started.
        """
        with self._lock:
            self._start().start()

    def close(self) -> None:
        """End the workers; a later call starts new ones."""
        with self._lock:
            if self._runner is not None:
                self._runner.close()
                self._runner.documents.close()
            self._runner = None

    def __call__(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
        """Run the program over documents.

        :param rows: The documents: ``_id``, ``text`` and, if there are any, ``title`` and ``metadata`` (an object, or
            one as JSON).
        :returns: The chunks, in the order of the documents: ``chunk_id``, ``doc_id``, ``text``, ``meta``. A document
            without index text has one whose text is None. With ``on_error="row"`` every row has ``error``, too.
        :raises ProgramError: If the program fails; the message names the document.
        :raises CollectionError: If a row is no document.
        """
        given = (typed_record(row, f"row {number} of the partition") for number, row in enumerate(rows, start=1))
        kept = self._on_error == "row"
        for mapped in self.map(given):
            if mapped.failure is not None:
                if not kept:
                    raise mapped.failure
                yield {
                    "chunk_id": None,
                    "doc_id": mapped.doc_id or None,
                    "text": None,
                    "meta": None,
                    "error": f"{mapped.where}: {mapped.failure}",
                }
            for row in mapped.rows:
                yield row | {"error": None} if kept else row

    def map(self, given: Iterable[Given]) -> Iterator[Mapped]:
        """Run the program over what was found in a corpus, past all failures.

        :param given: The records.
        :returns: What became of each, in the order given.
        :raises ProgramError: If the program fails without a document being at fault.
        :raises SandboxError: If no worker can be started.
        """
        warm = self._runner is not None
        try:
            for batch in _batches(given):
                with self._lock:
                    mapped = self._map(batch)
                yield from mapped
        finally:
            if not warm:
                self.close()

    def __enter__(self) -> "PartitionMapper":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in {"_runner", "_lock"}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._runner, self._lock = None, threading.Lock()

    def _start(self) -> ProgramRunner:
        if self._runner is None:
            self._runner = ProgramRunner(
                self.frozen.program,
                DocumentFile(),
                state=self.frozen.state,
                limits=self._limits,
                workers=self._workers,
                allowed_imports=self._settings.allowed_imports,
                isolation=self._isolation,
            )
        return self._runner

    def _map(self, batch: list[Given]) -> list[Mapped]:
        mapped = [Mapped(given.where) for given in batch]
        documents: list[Document] = []
        places: list[int] = []
        for place, given in enumerate(batch):
            document = self._document(given, mapped[place])
            if document is not None:
                documents.append(document)
                places.append(place)
        runner = self._start()
        runner.documents.write(documents)

        def take(block: Block) -> None:
            for ordinal, chunks in zip(block.ordinals, block.by_document(), strict=True):
                self._fill(mapped[places[ordinal]], documents[ordinal], chunks)

        def failed(ordinal: int, error: ProgramError) -> None:
            mapped[places[ordinal]].failure = error

        run_past_failures(runner, take, failed, most=_MOST_FAILURES)
        return mapped

    def _document(self, given: Given, mapped: Mapped) -> Document | None:
        """The document of a record; what is none is noted."""
        if isinstance(given.record, AutoIndexError):
            mapped.failure = given.record
            return None
        mapped.doc_id = str(given.record.get("_id") or "")
        try:
            document = document_of(given.record, given.where, self._settings.metadata_fields)
            mapped.size = len(document.text.encode("utf-8"))
            document.doc_id.encode("utf-8")
            json.dumps(document.metadata, ensure_ascii=False).encode("utf-8")
        except CollectionError as error:
            mapped.failure = error
            return None
        except (TypeError, ValueError) as error:
            mapped.failure = CollectionError(f"{given.where}: {error}; a document is Unicode and its metadata JSON")
            return None
        return document

    def _fill(self, mapped: Mapped, document: Document, chunks: list[tuple[str, dict[str, Any] | None]]) -> None:
        sha256, analyzer = self.frozen.program.sha256, self._settings.bm25.analyzer
        mapped.rows = [
            {"chunk_id": name, "doc_id": document.doc_id, "text": text, "meta": json.dumps(meta, ensure_ascii=False)}
            for name, text, meta in chunk_fields(document.doc_id, document.text, document.metadata, chunks, sha256)
        ]
        if not any(has_token(text, analyzer) for text, _ in chunks):
            title = str(document.metadata.get("title") or "")
            mapped.unreachable = has_token(document.text, analyzer) or has_token(title, analyzer)


def map_partitions(frozen: FrozenComponent, **options: Any) -> PartitionMapper:
    """Make a plain function over an iterator of rows of a frozen component, for any engine that has partitions.

    :param frozen: The component.
    :param options: As :class:`PartitionMapper` takes them: ``limits``, ``workers``, ``isolation``, ``on_error``.
    :returns: The function; it can be pickled.

    ```python
    from autoindex_haystack import load_frozen
    from autoindex_haystack.distributed import map_partitions

    chunks_of = map_partitions(load_frozen("my_run/frozen"))
    for row in chunks_of([{"_id": "wing", "title": "Icing", "text": "A heated wing sheds ice."}]):
        print(row["chunk_id"], row["text"])
    ```
    """
    return PartitionMapper(frozen, **options)


def _batches(given: Iterable[Given]) -> Iterator[list[Given]]:
    """Cut what was found into batches in which no id repeats."""
    batch: list[Given] = []
    ids: set[object] = set()
    size = 0
    for one in given:
        record = {} if isinstance(one.record, AutoIndexError) else one.record
        name, text = record.get("_id"), record.get("text")
        repeated = isinstance(name, str) and name in ids
        if batch and (repeated or len(batch) == _BATCH_DOCUMENTS or size >= _BATCH_CHARACTERS):
            yield batch
            batch, ids, size = [], set(), 0
        batch.append(one)
        ids.add(name if isinstance(name, str) else None)
        size += len(text) if isinstance(text, str) else 0
    if batch:
        yield batch
