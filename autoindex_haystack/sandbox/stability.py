"""A program's output must depend on the document alone: not on batch, order, ids, hash seed or time."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from autoindex_haystack.collection.types import Document
from autoindex_haystack.errors import ProgramError
from autoindex_haystack.program import Program
from autoindex_haystack.sandbox.blocks import Block, Metadata
from autoindex_haystack.sandbox.documents import DocumentFile
from autoindex_haystack.sandbox.isolation import Isolation
from autoindex_haystack.sandbox.limits import Limits
from autoindex_haystack.sandbox.reports import printable
from autoindex_haystack.sandbox.runner import IsCancelled, ProgramOutput, ProgramRunner

SAMPLE = 48
"""Documents that are compared."""

_BATCH = 5
_OTHER_SEED = 1
_SHOWN = 120
"""Characters that are shown of a difference."""


def check_stability(
    program: Program,
    documents: Sequence[Document],
    *,
    state: dict[str, Any],
    limits: Limits = Limits(),  # noqa: B008 - frozen
    allowed_imports: Sequence[str] = (),
    isolation: Isolation = "full",
    cancelled: IsCancelled | None = None,
) -> None:
    """Run a program twice over a sample under other circumstances and compare.

    The second run has other ids, another hash seed, the documents backwards and several of them at a call.

    :param program: The program.
    :param documents: The corpus; an even sample of it is used.
    :param state: What the program learned from the corpus.
    :param limits: What the program may use and return.
    :param allowed_imports: Modules beside the usual ones.
    :param isolation: How its workers are isolated.
    :param cancelled: Asked whether the work shall be called off.
    :raises ProgramError: If the output differs; the message names the first such document.
    """
    limits = replace(limits, corpus_growth=None)
    sample = documents[:: max(1, len(documents) // SAMPLE)][:SAMPLE]
    with DocumentFile(sample) as file:
        outputs = []
        for hash_seed, order, batch in (
            (0, range(len(sample)), 1),
            (_OTHER_SEED, range(len(sample) - 1, -1, -1), _BATCH),
        ):
            with ProgramRunner(
                program,
                file,
                state=state,
                limits=limits,
                allowed_imports=allowed_imports,
                hash_seed=hash_seed,
                isolation=isolation,
                cancelled=cancelled,
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


def document_digests(block: Block) -> NDArray[np.uint64]:
    """Hash the chunk texts of each document of a block.

    :param block: A block that is done.
    :returns: uint64, shape (documents,): equal where a document's chunks are equal, in their order.
    """
    ends = np.cumsum(block.counts, dtype=np.int64)
    firsts = ends - block.counts
    bounds = block.texts.bounds
    data, sizes = block.texts.data.data, block.texts.sizes.data
    digest = xxhash.xxh3_64_intdigest
    # Sizes count too, so that no two lists of texts give the same bytes.
    rows = zip(firsts.tolist(), ends.tolist(), bounds[firsts].tolist(), bounds[ends].tolist(), strict=True)
    found = (digest(data[begin:end], digest(sizes[first:last])) for first, last, begin, end in rows)
    return np.fromiter(found, np.uint64, len(block.counts))


def check_same_output(
    program: Program,
    file: DocumentFile,
    digests: NDArray[np.uint64],
    *,
    state: dict[str, Any],
    limits: Limits = Limits(),  # noqa: B008 - frozen
    workers: int = 1,
    allowed_imports: Sequence[str] = (),
    isolation: Isolation = "full",
    digest: Callable[[Block], NDArray[np.uint64]] = document_digests,
) -> None:
    """Run a program over a whole corpus once more under other circumstances and compare with what it gave before.

    It calibrates anew and runs with other ids, another hash seed, the documents backwards and several at a call.

    :param program: The program.
    :param file: The corpus.
    :param digests: uint64, shape (documents,): what ``digest`` gave for its first output.
    :param state: What it learned from the corpus the first time.
    :param limits: What the program may use and return.
    :param workers: Worker processes.
    :param allowed_imports: Modules beside the usual ones.
    :param isolation: How its workers are isolated.
    :param digest: Makes a hash of each document of a block.
    :raises ProgramError: If state or output differ; the message shows the first such document.
    """
    how: dict[str, Any] = {"limits": limits, "workers": workers, "allowed_imports": allowed_imports}
    how["isolation"] = isolation
    with ProgramRunner(program, file, hash_seed=_OTHER_SEED, **how) as runner:
        if runner.calibrate() != state:
            msg = "calibrate learned something else from the same corpus; make it depend on the documents alone"
            raise ProgramError(msg)
        changed: dict[int, str] = {}

        def compare(block: Block) -> None:
            ordinals = np.array(block.ordinals)
            differing = np.flatnonzero(digest(block) != digests[ordinals])
            changed.update((int(ordinals[i]), "") for i in differing)
            if len(differing) and (first := ordinals[differing].min()) == min(changed):
                changed[int(first)] = "\n".join(block.texts_of(block.ordinals.index(int(first))))

        runner.stream(compare, ordinals=range(len(file) - 1, -1, -1), batch=_BATCH)
    if not changed:
        return
    first = min(changed)
    with ProgramRunner(program, file, state=state, **how) as runner:
        before = "\n".join(runner.run(ordinals=range(first, first + 1)).chunks.texts)
    document_id = file.document_ids[first]
    msg = (
        f"the program's output for {len(changed):,} documents changes with ids, batch, order, hash seed or time; "
        f"the first is {document_id}: {_difference(before, changed[first])}"
    )
    raise ProgramError(msg, document_id=document_id)


def _difference(one: str, other: str) -> str:
    """Show where two texts begin to differ."""
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    begin = max(0, at - _SHOWN // 2)
    shown = [printable(text[begin : begin + _SHOWN]) for text in (one, other)]
    return f"{shown[0]!r} became {shown[1]!r} (from character {begin} on)"
