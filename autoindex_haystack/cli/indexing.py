"""A corpus run through a program and written to the document store of an engine, as the emitted pipelines do it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from haystack import Document as HaystackDocument

from autoindex_haystack.cli.output import Progress
from autoindex_haystack.cli.stores import haystack_documents, new_store
from autoindex_haystack.collection import Document
from autoindex_haystack.evaluation.reachable import check_reachable, chunks_with_token, documents_with_token
from autoindex_haystack.frozen import FrozenComponent
from autoindex_haystack.retrieval import BM25Settings
from autoindex_haystack.sandbox import DocumentFile, Isolation, Limits, ProgramOutput, ProgramRunner
from haystack_integrations.common.autoindex import make_chunks

_BATCH = 10_000
"""Documents whose chunks are written to the store at a time."""


@dataclass(frozen=True)
class Built:
    """What an index holds.

    :param chunks: Number of chunks.
    :param unreachable: Ids of documents whose chunks have no token left.
    """

    chunks: int
    unreachable: tuple[str, ...]


def build_index(
    documents: Sequence[Document],
    component: FrozenComponent,
    backend: str,
    settings: BM25Settings,
    folder: Path,
    *,
    limits: Limits,
    workers: int,
    isolation: Isolation = "full",
    show: Progress,
) -> Built:
    """Run a frozen component over a corpus and write a document store with its index.

    :param documents: The corpus, as programs see it.
    :param component: The component.
    :param backend: The engine.
    :param settings: BM25 parameters and analyzer.
    :param folder: Where the store goes.
    :param limits: What the program may use and return.
    :param workers: Worker processes.
    :param isolation: How they are isolated.
    :param show: Where progress is shown.
    :returns: What was built.
    :raises ProgramError: If the program fails or breaks a limit.
    :raises BackendError: If the engine is missing or fails.
    """
    with (
        DocumentFile(documents) as file,
        ProgramRunner(
            component.program,
            file,
            state=component.state,
            limits=limits,
            workers=workers,
            allowed_imports=component.manifest.settings.allowed_imports,
            isolation=isolation,
        ) as runner,
    ):
        output = runner.run(metadata=True, progress=lambda done: show("documents", done, len(documents)))
    reachable = documents_with_token(documents, settings.analyzer)
    found = chunks_with_token(output.chunks, settings.analyzer)
    unreachable = check_reachable(reachable, found, output.chunks.document_ids, limits.unreachable)
    store = new_store(folder, backend, settings)
    try:
        for done, chunks in _chunks(documents, output, component.program.sha256):
            store.write_documents(chunks)
            show("writing", done, len(documents))
        show("indexing")
        store.search("", top_k=1)  # The first search makes the index and saves it.
    finally:
        store.close()
    return Built(len(output.chunks), unreachable)


def _chunks(
    documents: Sequence[Document], output: ProgramOutput, sha256: str
) -> Iterator[tuple[int, list[HaystackDocument]]]:
    """Give the chunks of the corpus in batches, each with the number of documents done so far."""
    bounds = np.searchsorted(output.chunks.documents, np.arange(len(documents) + 1)).tolist()
    for begin in range(0, len(documents), _BATCH):
        batch: list[HaystackDocument] = []
        for i, source in enumerate(haystack_documents(documents[begin : begin + _BATCH]), start=begin):
            rows = slice(bounds[i], bounds[i + 1])
            batch += make_chunks(source, output.chunks.texts[rows], output.metadata[rows], sha256)
        yield min(begin + _BATCH, len(documents)), batch
