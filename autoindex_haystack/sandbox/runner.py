"""Running one program over documents in isolated workers: blocks handed out, results taken, the culprit named."""

import json
import secrets
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autoindex_haystack.errors import AutoIndexError, Cancelled, ProgramError, SandboxUnavailable
from autoindex_haystack.program import ALLOWED_MODULES, Program
from autoindex_haystack.retrieval import ChunkTable
from autoindex_haystack.sandbox import blocks
from autoindex_haystack.sandbox.blocks import Block, Metadata, parse_json
from autoindex_haystack.sandbox.documents import DocumentFile
from autoindex_haystack.sandbox.isolation import Isolation, checked_layers, lock_command
from autoindex_haystack.sandbox.limits import NOTHING_SPENT, Limits, Spent
from autoindex_haystack.sandbox.process import WorkerProcess, broken_protocol
from autoindex_haystack.sandbox.reports import Clocks, Reports
from autoindex_haystack.sandbox.worker import protocol

_AHEAD = 2
"""Blocks that a worker has in hand, so that it need not wait for the host."""

_TICK = 0.2
"""Seconds between two looks at the clocks."""

_START_SECONDS = 60.0
"""Seconds in which a worker must be locked, on however busy a machine."""

_SMALL_FRAME = 1 << 20
"""Bytes of a frame that carries no documents' chunks and no state."""

_LOADED = ("chunks", "document_growth", "floor", "state_bytes")
"""The limits that workers are told, since they look first."""

Progress = Callable[[int], None]
"""Called with the number of documents done so far."""

IsCancelled = Callable[[], bool]
"""Asked several times a second whether the work shall be called off."""


@dataclass(frozen=True)
class ProgramOutput:
    """What a program made of documents.

    :param chunks: All chunks, in the order of the document file.
    :param metadata: For each chunk the program's metadata, None where it is the document's own; empty when not asked
        for.
    :param seconds: Wall-clock time.
    """

    chunks: ChunkTable
    metadata: list[Metadata] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def spent(self) -> Spent:
        """What the run has used of the limits."""
        return Spent(self.seconds, self.chunks.nbytes)


class ProgramRunner:
    """A program with its workers, which stay warm between calls. Usable from several threads; calls take turns.

    :param program: The program; its static check must have passed.
    :param documents: The document file that the workers read.
    :param state: What ``calibrate`` returned before, for a program that uses it.
    :param limits: What the program may use and return.
    :param workers: How many processes run side by side.
    :param allowed_imports: Modules beside the usual ones, with their submodules.
    :param key: Key of the opaque ids; fresh when not given.
    :param hash_seed: PYTHONHASHSEED of the workers.
    :param isolation: ``full``, or ``process-only`` for workers that the kernel does not lock.
    :param cancelled: Asked while a call is busy; when it says so, the workers end and the call raises
        :class:`~autoindex_haystack.errors.Cancelled`.
    """

    def __init__(
        self,
        program: Program,
        documents: DocumentFile,
        *,
        state: dict[str, Any] | None = None,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        workers: int = 1,
        allowed_imports: Sequence[str] = (),
        key: bytes | None = None,
        hash_seed: int = 0,
        isolation: Isolation = "full",
        cancelled: IsCancelled | None = None,
    ) -> None:
        self.program = program
        self.documents = documents
        self.state = state or {}
        self._limits = limits
        self._count = max(1, workers)
        self._packages = sorted(set(allowed_imports))
        self._key = key or secrets.token_bytes(protocol.KEY_BYTES)
        self._hash_seed = hash_seed
        self._isolation = isolation
        self._cancelled = cancelled or (lambda: False)
        self.layers: tuple[str, ...] = ()
        self._workers: list[WorkerProcess] = []
        self._lock = threading.Lock()
        self._calibrates = False

    def start(self) -> None:
        """Start the workers and load the program into them; starting twice is fine.

        :raises ProgramError: If the program's module code fails.
        :raises SandboxError: If no worker can be started.
        :raises SandboxUnavailable: If this machine cannot isolate it as asked.
        """
        with self._lock:
            self._start()

    def calibrate(self) -> dict[str, Any]:
        """Let the program learn corpus statistics from the document file, in a worker of its own.

        :returns: The state, which later calls of :meth:`run` use; empty for a program that does not calibrate.
        :raises ProgramError: If the program fails or its state breaks a limit.
        """
        with self._lock:
            self._start()
            if not self._calibrates:
                return self.state
            ordinals = _sample(self.documents, self._limits)
            try:
                command = {"do": "calibrate", "ordinals": ordinals, "bounds_at": self.documents.bounds_at}
                self._workers[0].send(command)
                self.state = self._answer(self._workers[0], protocol.STATE, self._limits.state_bytes)
            finally:
                self._stop()
            return self.state

    def run(
        self,
        *,
        ordinals: Sequence[int] | None = None,
        batch: int = 1,
        metadata: bool = False,
        progress: Progress | None = None,
        before: Spent = NOTHING_SPENT,
    ) -> ProgramOutput:
        """Run the program over the document file.

        :param ordinals: The documents to run over, each once, in any order; all when not given.
        :param batch: Documents a call of ``preprocess``.
        :param metadata: Whether to bring back the chunks' metadata.
        :param progress: Called with the number of documents done so far.
        :param before: What earlier runs over other documents took, when this one goes on with them: time and output
            count towards the limits of the corpus together.
        :returns: The chunks, in the order of the file.
        :raises ProgramError: If the program fails, breaks the contract or a limit; the message names the document.
        """
        began = time.monotonic()
        pieces: list[Block] = []
        how: dict[str, Any] = {"batch": batch, "metadata": metadata, "progress": progress}
        self.stream(pieces.append, ordinals=ordinals, before=before, **how)
        chunks, own = blocks.join_blocks(pieces, self.documents.document_ids)
        return ProgramOutput(chunks, own if metadata else [], time.monotonic() - began)

    def stream(
        self,
        take: Callable[[Block], object],
        *,
        ordinals: Sequence[int] | None = None,
        batch: int = 1,
        metadata: bool = False,
        progress: Progress | None = None,
        before: Spent = NOTHING_SPENT,
    ) -> Spent:
        """Run the program over the document file and hand out its chunks as they come; see :meth:`run`.

        :param take: Called with each block of documents when it is done, in this thread, while workers go on. Blocks
            come in the order in which they are finished.
        :param ordinals: The documents to run over, each once, in any order; all when not given.
        :param batch: Documents a call of ``preprocess``.
        :param metadata: Whether to bring back the chunks' metadata.
        :param progress: Called with the number of documents done so far.
        :param before: What earlier runs over other documents took, when this one goes on with them: time and output
            count towards the limits of the corpus together.
        :returns: What all of them took.
        :raises ProgramError: If the program fails, breaks the contract or a limit; the message names the document.
        """
        with self._lock:
            began = time.monotonic()
            self._start()
            chosen = range(len(self.documents)) if ordinals is None else ordinals
            waiting = deque(blocks.cut(chosen, self.documents.sizes, self._limits))
            try:
                size = self._work(waiting, {"batch": batch, "metadata": metadata}, take, progress, before)
            except BaseException:
                self._stop()
                raise
            return Spent(before.seconds + time.monotonic() - began, size)

    def close(self) -> None:
        """End the workers. A later call starts new ones."""
        with self._lock:
            self._stop()

    def __enter__(self) -> "ProgramRunner":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        if self._workers:
            return
        try:
            for _ in range(self._count):
                self._workers.append(WorkerProcess(self.documents.fileno(), self._hash_seed))
            self._isolate()
            load = {
                "do": "load",
                "source": self.program.source,
                "state": json.dumps(self.state, ensure_ascii=False),
                "modules": sorted(ALLOWED_MODULES),
                "packages": self._packages,
                "key": self._key.hex(),
                "limits": {name: getattr(self._limits, name) for name in _LOADED},
                "seconds": self._limits.seconds,
            }
            for process in self._workers:
                process.send(load)
            for process in self._workers:
                answer = self._answer(process, protocol.READY, _SMALL_FRAME)
                self._calibrates = bool(answer.get("calibrates"))
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        for process in self._workers:
            process.close()
        self._workers = []

    def _isolate(self) -> None:
        """Have all workers locked, before they get to know anything of the program; note the layers in force."""
        command = lock_command(self._isolation, self._limits.memory, self.program.source, self._packages)
        for process in self._workers:
            process.send({**command, "parent": process.parent})
        for process in self._workers:
            try:
                answer = self._answer(process, protocol.ISOLATED, _SMALL_FRAME, Limits(seconds=_START_SECONDS))
            except Cancelled:
                raise
            except AutoIndexError as error:
                msg = f"no worker came up: {error}"
                raise SandboxUnavailable(msg) from error
            self.layers = checked_layers(answer, self._isolation)

    def _work(
        self,
        waiting: deque[Block],
        options: dict[str, Any],
        take: Callable[[Block], object],
        progress: Progress | None,
        before: Spent,
    ) -> int:
        """Hand out blocks and take results until all are done; returns the bytes of all texts, also of those before."""
        in_hand: dict[WorkerProcess, deque[Block]] = {process: deque() for process in self._workers}
        clocks = Clocks(self._limits, by_document=True, spent=before.seconds)
        allowed = self._limits.corpus_bytes(int(self.documents.sizes.sum()))
        total, done = before.size, 0
        with selectors.DefaultSelector() as selector:
            for process in self._workers:
                selector.register(process.results, selectors.EVENT_READ, (process, True))
                selector.register(process.log, selectors.EVENT_READ, (process, False))
            while waiting or any(in_hand.values()):
                for process, held in in_hand.items():
                    while waiting and len(held) < _AHEAD:
                        held.append(waiting.popleft())
                        asked = {"ordinals": list(held[-1].ordinals), "bounds_at": self.documents.bounds_at}
                        process.send({"do": "run", **asked, **options})
                ready = selector.select(_TICK)
                self._look_whether_cancelled()
                for key, _ in ready:
                    process, is_result = key.data
                    if not is_result:
                        if not process.drain_log():
                            selector.unregister(key.fd)
                        continue
                    for payload in self._block_frames(process, in_hand[process]):
                        block = in_hand[process].popleft()
                        total += block.fill(payload, self._limits)
                        take(block)
                        done += len(block.ordinals)
                        if progress:
                            progress(done)
                if allowed is not None and total > allowed:
                    msg = f"the program returned more than {allowed:,} bytes for the corpus; index less text"
                    raise ProgramError(msg)
                for process, held in in_hand.items():
                    if held and (limit := clocks.expired(process)):
                        raise self._reports.expired(process, limit)
        return total

    def _block_frames(self, process: WorkerProcess, held: deque[Block]) -> list[bytes]:
        """Take the blocks that a worker has finished; an error of the program is raised."""
        largest = max((block.largest(self._limits) for block in held), default=0) + _SMALL_FRAME
        payloads: list[bytes] = []
        try:
            for frame, payload in process.frames(largest):
                if frame == protocol.FAILED:
                    raise self._reports.failed(process, payload)
                if frame != protocol.BLOCK or len(payloads) >= len(held):
                    raise broken_protocol()
                payloads.append(payload)
        except EOFError:
            if len(payloads) < len(held) or not held:
                raise self._reports.died(process) from None
        return payloads

    def _answer(
        self, process: WorkerProcess, kind: bytes, largest: int, limits: Limits | None = None
    ) -> dict[str, Any]:
        """Wait for the one frame, a JSON object of so many bytes at most, that answers a command."""
        clocks = Clocks(limits or self._limits, by_document=False)
        with selectors.DefaultSelector() as selector:
            selector.register(process.results, selectors.EVENT_READ)
            selector.register(process.log, selectors.EVENT_READ)
            while True:
                ready = selector.select(_TICK)
                self._look_whether_cancelled()
                for key, _ in ready:
                    if key.fd == process.log:
                        if not process.drain_log():
                            selector.unregister(key.fd)
                        continue
                    try:
                        for frame, payload in process.frames(max(largest, _SMALL_FRAME)):
                            if frame == protocol.FAILED:
                                raise self._reports.failed(process, payload)
                            if frame != kind or len(payload) > largest:
                                raise broken_protocol()
                            return _parse_answer(payload)
                    except EOFError:
                        raise self._reports.died(process) from None
                if limit := clocks.expired(process):
                    raise self._reports.expired(process, limit)

    def _look_whether_cancelled(self) -> None:
        if self._cancelled():
            msg = "the program's run was called off"
            raise Cancelled(msg)

    @property
    def _reports(self) -> Reports:
        return Reports(self.documents.document_ids)


def _parse_answer(payload: bytes) -> dict[str, Any]:
    try:
        answer = parse_json(payload)
    except (ValueError, RecursionError) as error:
        raise broken_protocol() from error
    if not isinstance(answer, dict):
        raise broken_protocol()
    return answer


def _sample(documents: DocumentFile, limits: Limits) -> list[int]:
    """The ordinals that ``calibrate`` sees, in corpus order: all, or a seeded sample within the limits."""
    count = len(documents)
    if count <= limits.sample_documents and int(documents.sizes.sum()) <= limits.sample_bytes:
        return list(range(count))
    order = np.random.default_rng(0).permutation(count)[: limits.sample_documents]
    within = np.cumsum(documents.sizes[order]) <= limits.sample_bytes
    return sorted(order[within].tolist())
