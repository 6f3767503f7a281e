"""A program's output must depend on the document alone: not on batch, order, ids, hash seed or time."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from autoindex_haystack.collection.types import Document
from autoindex_haystack.errors import ProgramError
from autoindex_haystack.program import Program
from autoindex_haystack.sandbox.blocks import Metadata
from autoindex_haystack.sandbox.documents import DocumentFile
from autoindex_haystack.sandbox.limits import Limits
from autoindex_haystack.sandbox.runner import ProgramOutput, ProgramRunner

SAMPLE = 48
"""Documents that are compared."""

_BATCH = 5


def check_stability(
    program: Program,
    documents: Sequence[Document],
    *,
    state: dict[str, Any],
    limits: Limits = Limits(),  # noqa: B008 - frozen
    allowed_imports: Sequence[str] = (),
) -> None:
    """Run a program twice over a sample under other circumstances and compare.

    The second run has other ids, another hash seed, the documents backwards and several of them at a call.

    :param program: The program.
    :param documents: The corpus; an even sample of it is used.
    :param state: What the program learned from the corpus.
    :param limits: What the program may use and return.
    :param allowed_imports: Modules beside the usual ones.
    :raises ProgramError: If the output differs; the message names the first such document.
    """
    limits = replace(limits, corpus_growth=None)
    sample = documents[:: max(1, len(documents) // SAMPLE)][:SAMPLE]
    with DocumentFile(sample) as file:
        outputs = []
        for hash_seed, order, batch in ((0, range(len(sample)), 1), (1, range(len(sample) - 1, -1, -1), _BATCH)):
            with ProgramRunner(
                program, file, state=state, limits=limits, allowed_imports=allowed_imports, hash_seed=hash_seed
            ) as runner:
                outputs.append(_by_document(runner.run(ordinals=order, batch=batch, metadata=True), len(sample)))
    differing = [document for document, *chunks in zip(sample, *outputs, strict=True) if chunks[0] != chunks[1]]
    if not differing:
        return
    document_id = differing[0].doc_id
    msg = (
        f"the program's output for document {document_id} changes with ids, batch, order, hash seed or time; "
        "make it depend on the document alone"
    )
    raise ProgramError(msg, document_id=document_id)


def _by_document(output: ProgramOutput, count: int) -> list[list[tuple[str, Metadata]]]:
    """Texts and metadata of the chunks of each document."""
    grouped: list[list[tuple[str, Metadata]]] = [[] for _ in range(count)]
    for ordinal, text, own in zip(output.chunks.documents.tolist(), output.chunks.texts, output.metadata, strict=True):
        grouped[ordinal].append((text, own))
    return grouped
