"""The component that runs a frozen representation program in an indexing pipeline."""

import asyncio
import threading
import weakref
from typing import Any, Literal

from haystack import Document, component, default_from_dict, default_to_dict, logging

from autoindex_haystack.frozen import load_frozen
from autoindex_haystack.program import Document as ProgramDocument
from autoindex_haystack.sandbox import ISOLATIONS, Isolation, Limits
from haystack_integrations.common.autoindex import is_document_list, make_chunks
from haystack_integrations.common.autoindex.spans import span
from haystack_integrations.components.preprocessors.autoindex.program_workers import Chunks, ProgramWorkers

logger = logging.getLogger(__name__)

_ON_ERROR = ("raise", "skip", "full_document")


@component
class RepresentationPreprocessor:
    """Turns documents into the chunks that BM25 shall see, by the representation program that was learned for them.

    Use it in an indexing pipeline, before the ``DocumentWriter``. The program runs in processes of its own, isolated
    from this one, one document a call. It sees a document's content, its title, and the metadata fields that were named
    when it was learned.

    Chunks are for the index, not for readers: the first chunk of each document keeps the original content in its meta
    (``source_content``), and ``RepresentationRetriever`` gives the original documents back. Other keys that the chunks'
    meta gets, whatever documents and program say: ``source_id``, ``split_id`` and ``program_sha256``; in the first
    chunk also ``split_count`` and, where needed, ``source_meta``. The rest of the meta is the document's and the
    program's.

    A chunk's id depends on the document's id and its place alone. So indexing a changed document again with the policy
    OVERWRITE replaces its chunks, and the document stores of AutoIndex also delete those that it no longer has.

    ### Usage example

    ```python
    from haystack import Document, Pipeline
    from haystack.components.writers import DocumentWriter
    from haystack.document_stores.types import DuplicatePolicy
    from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor
    from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore

    indexing = Pipeline()
    indexing.add_component("preprocessor", RepresentationPreprocessor("my_run/frozen"))
    indexing.add_component("writer", DocumentWriter(Bm25sDocumentStore("my_index"), policy=DuplicatePolicy.OVERWRITE))
    indexing.connect("preprocessor", "writer")
    indexing.run({"preprocessor": {"documents": [Document(content="A heated wing sheds ice.")]}})
    indexing.close()
    ```
    """

    def __init__(
        self,
        path: str,
        *,
        sha256: str | None = None,
        workers: int = 1,
        title_key: str = "title",
        timeout: float = 60.0,
        on_error: Literal["raise", "skip", "full_document"] = "raise",
        isolation: Isolation = "full",
        program_memory: int = Limits.memory,
    ) -> None:
        """Create the component; nothing is read or started before :meth:`warm_up`.

        :param path: The folder of the frozen component.
        :param sha256: The hash that the component must have. Give it wherever others could change the folder.
        :param workers: How many processes run the program side by side.
        :param title_key: The key of meta that holds a document's title.
        :param timeout: Seconds that the program may take for one document.
        :param on_error: What to do when the program fails at a document: ``raise``; ``skip`` it with a warning, then it
            is not indexed; or index its ``full_document``, title and content as they are, with a warning. The
            output ``failed`` has the ids of both.
        :param isolation: ``full``, or ``process-only`` for programs that you trust, where the kernel cannot lock the
            processes (as on macOS).
        :param program_memory: Memory (address space) in bytes that each process may have.
        :raises ValueError: If a number is not above 0, or ``on_error`` or ``isolation`` is unknown.
        """
        if workers < 1:
            msg = f"workers must be greater than 0, but got {workers}"
            raise ValueError(msg)
        if not timeout > 0:
            msg = f"timeout must be greater than 0, but got {timeout}"
            raise ValueError(msg)
        if on_error not in _ON_ERROR:
            msg = f"on_error must be 'raise', 'skip' or 'full_document', but got {on_error!r}"
            raise ValueError(msg)
        if isolation not in ISOLATIONS:
            msg = f"isolation must be 'full' or 'process-only', but got {isolation!r}"
            raise ValueError(msg)
        if program_memory < 1:
            msg = f"program_memory must be greater than 0, but got {program_memory}"
            raise ValueError(msg)
        self.path = str(path)
        self.sha256 = sha256
        self.workers = workers
        self.title_key = title_key
        self.timeout = timeout
        self.on_error = on_error
        self.isolation: Isolation = isolation
        self.program_memory = program_memory
        self._program: ProgramWorkers | None = None
        self._finalizer: weakref.finalize[..., RepresentationPreprocessor] | None = None
        self._lock = threading.Lock()

    def to_dict(self) -> dict[str, Any]:
        """Serialize the component.

        :returns: A dictionary that :meth:`from_dict` reads.
        """
        return default_to_dict(
            self,
            path=self.path,
            sha256=self.sha256,
            workers=self.workers,
            title_key=self.title_key,
            timeout=self.timeout,
            on_error=self.on_error,
            isolation=self.isolation,
            program_memory=self.program_memory,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "RepresentationPreprocessor":
        """Make a component from what :meth:`to_dict` gave.

        :param data: The dictionary.
        :returns: The component.
        """
        return default_from_dict(cls, data)

    def warm_up(self) -> None:
        """Check the frozen component and start the workers; doing it twice is fine.

        :raises FrozenError: If the component is missing, damaged, or not the one that is pinned.
        :raises ProgramError: If the program's module code fails.
        :raises SandboxError: If no worker can be started.
        """
        self._warm()

    def close(self) -> None:
        """End the workers. They also end with the component, and start again when it runs again."""
        with self._lock:
            if self._finalizer is not None:
                self._finalizer()
            self._program = self._finalizer = None

    @component.output_types(documents=list[Document], failed=list[str])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Turn documents into chunks.

        :param documents: The documents; they are not changed. Content None counts as empty. When several have the same
            id, the last one counts.
        :returns: A dictionary with the keys ``documents``: the chunks, those of one document together, in its order;
            and ``failed``: the ids of the documents at which the program failed.
        :raises TypeError: If something else than a list of Documents is given.
        :raises ValueError: If a document cannot be given to the program; the message names it.
        :raises ProgramError: If the program fails; the message names the document.
        :raises FrozenError: If the component is missing, damaged, or not the one that is pinned.
        """
        if not is_document_list(documents):
            msg = "RepresentationPreprocessor expects a list of Documents as input."
            raise TypeError(msg)
        program = self._warm()
        sources = list({document.id: document for document in documents}.values())
        fields = program.frozen.manifest.settings.metadata_fields
        given = [self._given(source, fields) for source in sources]
        sha256 = program.frozen.program.sha256
        empty = []

        def make(i: int, found: Chunks) -> list[Document]:
            texts, metadata = [text for text, _ in found], [own for _, own in found]
            if not any(map(str.strip, texts)):
                empty.append(i)
            return make_chunks(sources[i], texts, metadata, sha256)

        with span("program", program_sha256=sha256, documents=len(given), workers=self.workers) as traced:
            made = program.run(given, make, skip_failing=self.on_error != "raise")
            traced.set_tag("autoindex.chunks", sum(len(chunks) for chunks in made if chunks))
        failing = [i for i, chunks in enumerate(made) if chunks is None]
        if self.on_error == "full_document":
            for i in failing:
                made[i] = make(i, [(_full_document(given[i]), None)])
        failed = [sources[i].id for i in failing]
        _warn("have no content and count as empty", [source.id for source in sources if source.content is None])
        fate = "are not indexed" if self.on_error == "skip" else "are indexed as they are"
        _warn(f"made the program fail and {fate}", failed)
        _warn("got no index text from the program and cannot be found", [sources[i].id for i in sorted(empty)])
        if len(sources) < len(documents):
            logger.warning(
                "{count} documents were left out because others after them have the same id",
                count=len(documents) - len(sources),
            )
        return {"documents": [chunk for chunks in made for chunk in chunks or ()], "failed": failed}

    @component.output_types(documents=list[Document], failed=list[str])
    async def run_async(self, documents: list[Document]) -> dict[str, Any]:
        """Turn documents into chunks, while the event loop goes on; otherwise the same as :meth:`run`.

        :param documents: The documents.
        :returns: A dictionary with the keys ``documents``, the chunks, and ``failed``.
        :raises TypeError: If something else than a list of Documents is given.
        :raises ValueError: If a document cannot be given to the program; the message names it.
        :raises ProgramError: If the program fails; the message names the document.
        :raises FrozenError: If the component is missing, damaged, or not the one that is pinned.
        """
        return await asyncio.to_thread(self.run, documents)

    def _warm(self) -> ProgramWorkers:
        with self._lock:
            if self._program is None:
                frozen = load_frozen(self.path, sha256=self.sha256)
                program = ProgramWorkers(
                    frozen,
                    workers=self.workers,
                    timeout=self.timeout,
                    memory=self.program_memory,
                    isolation=self.isolation,
                )
                # Also when the component is simply dropped, and at the end of the process.
                self._finalizer = weakref.finalize(self, program.close)
                self._program = program
            self._program.start()
            return self._program

    def _given(self, source: Document, fields: tuple[str, ...]) -> ProgramDocument:
        """What the program sees of a document."""
        metadata = {field: source.meta[field] for field in fields if field in source.meta}
        title = source.meta.get(self.title_key)
        if isinstance(title, str) and title:
            metadata["title"] = title
        return ProgramDocument(source.id, source.content or "", metadata)


def _full_document(document: ProgramDocument) -> str:
    """What the baseline makes of a document."""
    title = document.metadata.get("title")
    return f"{title}\n{document.text}" if title else document.text


def _warn(what: str, ids: list[str]) -> None:
    if ids:
        shown = ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
        logger.warning("{count} documents {what}: {shown}", count=len(ids), what=what, shown=shown)
