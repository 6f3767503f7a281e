"""A frozen program with its isolated workers, kept warm between the runs of a component. Knows nothing of Haystack."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from autoindex_haystack.errors import SandboxError
from autoindex_haystack.frozen import FrozenComponent
from autoindex_haystack.program import Document
from autoindex_haystack.sandbox import Block, DocumentFile, Isolation, Limits, ProgramRunner, run_past_failures

_BATCH_DOCUMENTS, _BATCH_CHARACTERS = 4_096, 32 << 20
"""What one worker is given at a time: enough to keep it busy, little enough that the results do not fill the memory."""

_BATCH_TIMEOUTS = 15
"""How many times as long as one document a batch may take; at the default the sandbox's usual limit for a program."""

_UNLIMITED_GROWTH = 1 << 40

T = TypeVar("T")

Chunks = list[tuple[str, dict[str, Any] | None]]
"""Text and metadata of the chunks of one document; None where the program says nothing of its own."""


class ProgramWorkers:
    """Runs the program over documents. Usable from several threads; batches take turns.

    :param frozen: The component.
    :param workers: How many processes run side by side.
    :param timeout: Seconds that the program may take for one document.
    :param memory: Address space of each process in bytes.
    :param isolation: How the processes are isolated.
    """

    def __init__(
        self,
        frozen: FrozenComponent,
        *,
        workers: int,
        timeout: float,
        memory: int = Limits.memory,
        isolation: Isolation = "full",
    ) -> None:
        self.frozen = frozen
        self._workers = workers
        # How much a program may make of a corpus was judged where it was learned. A batch is no corpus.
        limits = Limits(
            document_seconds=timeout,
            seconds=_BATCH_TIMEOUTS * timeout,
            memory=memory,
            corpus_growth=_UNLIMITED_GROWTH,
        )
        self._file = DocumentFile()
        self._runner = ProgramRunner(
            frozen.program,
            self._file,
            state=frozen.state,
            limits=limits,
            workers=workers,
            allowed_imports=frozen.manifest.settings.allowed_imports,
            isolation=isolation,
        )
        self._closed = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the workers; starting twice is fine.

        :raises ProgramError: If the program's module code fails.
        :raises SandboxError: If no worker can be started.
        """
        with self._lock:
            self._runner.start()

    def run(
        self, documents: Sequence[Document], make: Callable[[int, Chunks], T], *, skip_failing: bool = False
    ) -> list[T | None]:
        """Run the program over documents.

        :param documents: The documents; their ids must differ.
        :param make: Called with the place of a document in the list and its chunks, in this thread, while the workers
            go on with others.
        :param skip_failing: Go on after a document at which the program fails.
        :returns: What was made of each document, in the order given; None for one at which the program failed.
        :raises ProgramError: If the program fails, breaks the contract or a limit; it names the document.
        :raises SandboxError: If it was closed meanwhile, or a worker cannot be started or breaks its protocol.
        :raises ValueError: If a document cannot be given to a program; it names the document.
        """
        results: list[T | None] = [None] * len(documents)
        for batch in self._batches(documents):
            with self._lock:
                self._run_batch(documents, batch, make, results, skip_failing)
        return results

    def close(self) -> None:
        """End the workers and release everything."""
        with self._lock:
            self._closed = True
            self._runner.close()
            self._file.close()

    def _batches(self, documents: Sequence[Document]) -> Iterator[range]:
        begin = size = 0
        for i, document in enumerate(documents):
            size += len(document.text)
            if i + 1 - begin == _BATCH_DOCUMENTS * self._workers or size >= _BATCH_CHARACTERS * self._workers:
                yield range(begin, i + 1)
                begin, size = i + 1, 0
        if begin < len(documents):
            yield range(begin, len(documents))

    def _run_batch(
        self,
        documents: Sequence[Document],
        batch: range,
        make: Callable[[int, Chunks], T],
        results: list[T | None],
        skip_failing: bool,
    ) -> None:
        if self._closed:
            msg = "the component was closed while it ran"
            raise SandboxError(msg)
        given = documents[batch.start : batch.stop]
        try:
            self._file.write(given)
        except (TypeError, ValueError) as error:
            raise _unfit(given) from error

        def take(block: Block) -> None:
            for ordinal, chunks in zip(block.ordinals, block.by_document(), strict=True):
                results[batch[ordinal]] = make(batch[ordinal], chunks)

        if skip_failing:
            run_past_failures(self._runner, take, lambda *_: None, most=len(batch))
        else:
            self._runner.stream(take, metadata=True)


def _unfit(batch: Sequence[Document]) -> ValueError:
    """The error for the first document that cannot be written for the workers."""
    for document in batch:
        try:
            document.text.encode("utf-8")
            json.dumps(document.metadata)
        except UnicodeEncodeError:
            return ValueError(
                f"document {document.doc_id} holds half a surrogate pair, which is no Unicode; repair its text"
            )
        except (TypeError, ValueError) as error:
            return ValueError(f"document {document.doc_id} has metadata that is no JSON ({error}); convert it before")
    return ValueError("the documents cannot be given to the program")
