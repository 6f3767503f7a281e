"""Running one program over documents in isolated workers: blocks handed out, results checked, the culprit named."""

import json
import secrets
import selectors
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.errors import ProgramError, SandboxError
from autoindex_haystack.program import ALLOWED_MODULES, Program
from autoindex_haystack.retrieval import ChunkTable
from autoindex_haystack.sandbox import worker
from autoindex_haystack.sandbox.documents import DocumentFile
from autoindex_haystack.sandbox.limits import Limits
from autoindex_haystack.sandbox.process import WorkerProcess

_BLOCK_DOCUMENTS, _BLOCK_BYTES = 512, 1 << 20
_AHEAD = 2
"""Blocks that a worker has in hand, so that it need not wait for the host."""

_TICK = 0.2
"""Seconds between two looks at the clocks."""

_FRAME_SLACK = 1 << 20

Progress = Callable[[int], None]
"""Called with the number of documents done so far."""


@dataclass(frozen=True)
class ProgramOutput:
    """What a program made of documents.

    :param chunks: All chunks, documents in the order given.
    :param metadata: For each chunk the program's metadata, None where it is the document's own; empty when not asked for.
    :param seconds: Wall-clock time.
    """

    chunks: ChunkTable
    metadata: list[dict[str, Any] | None] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class _Block:
    """A piece of the work and, later, its result."""

    ordinals: range
    largest: int
    counts: NDArray[np.uint32] | None = None
    texts: list[str] = field(default_factory=list)
    metadata: list[dict[str, Any] | None] = field(default_factory=list)


class ProgramRunner:
    """A program with its workers, which stay warm between calls. Usable from several threads; calls take turns.

    :param program: The program; its static check must have passed.
    :param documents: The document file that the workers read.
    :param state: What ``calibrate`` returned before, for a program that uses it.
    :param limits: What the program may use and return.
    :param workers: How many processes run side by side.
    :param allowed_imports: Modules beside the usual ones.
    :param key: Key of the opaque ids; fresh when not given.
    :param hash_seed: PYTHONHASHSEED of the workers.
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
    ) -> None:
        self.program = program
        self.documents = documents
        self.state = state or {}
        self._limits = limits
        self._count = max(1, workers)
        self._modules = sorted(ALLOWED_MODULES | set(allowed_imports))
        self._key = key or secrets.token_bytes(worker.KEY_BYTES)
        self._hash_seed = hash_seed
        self._workers: list[WorkerProcess] = []
        self._lock = threading.Lock()
        self._calibrates = False

    def start(self) -> None:
        """Start the workers and load the program into them; starting twice is fine.

        :raises ProgramError: If the program's module code fails.
        :raises SandboxError: If no worker can be started.
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
                self._workers[0].send({"do": "calibrate", "ordinals": ordinals})
                frame, payload = self._answer(self._workers[0], self._limits.state_bytes + _FRAME_SLACK)
                if frame != worker.STATE:
                    raise self._broken()
                self.state = self._parse_state(payload)
            finally:
                self._stop()
            return self.state

    def run(
        self,
        *,
        ordinals: Sequence[int] | range | None = None,
        batch: int = 1,
        metadata: bool = False,
        progress: Progress | None = None,
    ) -> ProgramOutput:
        """Run the program over the document file.

        :param ordinals: A range of the documents to run over, which may go backwards; all when not given.
        :param batch: Documents a call of ``preprocess``.
        :param metadata: Whether to bring back the chunks' metadata.
        :param progress: Called with the number of documents done so far.
        :returns: The chunks, in the order of the file.
        :raises ProgramError: If the program fails, breaks the contract or a limit; the message names the document.
        """
        with self._lock:
            began = time.monotonic()
            self._start()
            chosen = range(len(self.documents)) if ordinals is None else ordinals
            blocks = self._blocks(chosen if isinstance(chosen, range) else range(0))
            try:
                self._work(blocks, {"batch": batch, "metadata": metadata}, progress)
            except BaseException:
                self._stop()
                raise
            return self._collect(blocks, metadata, time.monotonic() - began)

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
            load = {
                "do": "load",
                "source": self.program.source,
                "state": json.dumps(self.state, ensure_ascii=False),
                "limits": {
                    name: getattr(self._limits, name)
                    for name in ("chunks", "document_growth", "floor", "state_bytes")
                },
                "modules": self._modules,
                "key": self._key.hex(),
                "memory": self._limits.memory,
                "seconds": self._limits.seconds,
            }
            for process in self._workers:
                process.send(load)
            for process in self._workers:
                frame, payload = self._answer(process, _FRAME_SLACK)
                if frame != worker.READY:
                    raise self._broken()
                self._calibrates = bool(json.loads(payload)["calibrates"])
        except BaseException:
            self._stop()
            raise

    def _stop(self) -> None:
        for process in self._workers:
            process.close()
        self._workers = []

    def _blocks(self, ordinals: range) -> list[_Block]:
        """Cut the documents into blocks of similar size."""
        blocks, begin, size, largest = [], 0, 0, 0
        sizes = self.documents.sizes
        for i, ordinal in enumerate(ordinals):
            size += int(sizes[ordinal])
            largest += self._limits.document_bytes(int(sizes[ordinal]))
            if i + 1 - begin == _BLOCK_DOCUMENTS or size >= _BLOCK_BYTES or i + 1 == len(ordinals):
                blocks.append(_Block(ordinals[begin : i + 1], largest))
                begin, size, largest = i + 1, 0, 0
        return blocks

    def _work(self, blocks: list[_Block], options: dict[str, Any], progress: Progress | None) -> None:
        """Hand out blocks and take results until all are done."""
        waiting = deque(blocks)
        in_hand: dict[WorkerProcess, deque[_Block]] = {process: deque() for process in self._workers}
        clocks = _Clocks(self._limits)
        total, allowed, done = 0, self._limits.corpus_growth * int(self.documents.sizes.sum()), 0
        allowed += self._limits.floor * len(self.documents)
        with selectors.DefaultSelector() as selector:
            for process in self._workers:
                selector.register(process.results, selectors.EVENT_READ, (process, True))
                selector.register(process.log, selectors.EVENT_READ, (process, False))
            while waiting or any(in_hand.values()):
                for process, held in in_hand.items():
                    while waiting and len(held) < _AHEAD:
                        block = waiting.popleft()
                        held.append(block)
                        ordinals = [block.ordinals.start, block.ordinals.stop, block.ordinals.step]
                        process.send({"do": "run", "ordinals": ordinals, **options})
                for key, _ in selector.select(_TICK):
                    process, is_result = key.data
                    if not is_result:
                        if not process.drain_log():
                            selector.unregister(key.fd)
                        continue
                    for payload in self._block_frames(process, in_hand[process]):
                        block = in_hand[process].popleft()
                        total += self._unpack(block, payload)
                        done += len(block.ordinals)
                        if progress:
                            progress(done)
                if total > allowed:
                    msg = f"the program returned more than {allowed:,} bytes for the corpus; index less text"
                    raise ProgramError(msg)
                for process, held in in_hand.items():
                    if held:
                        self._check_clocks(process, clocks)

    def _block_frames(self, process: WorkerProcess, held: deque[_Block]) -> list[bytes]:
        """Take the blocks that a worker has finished; an error of the program is raised."""
        largest = max((block.largest for block in held), default=0) * 2 + _FRAME_SLACK + 8 * self._limits.chunks
        payloads = []
        try:
            for frame, payload in process.frames(largest):
                if frame == worker.FAILED:
                    raise self._failed(process, payload)
                if frame != worker.BLOCK or len(payloads) >= len(held):
                    raise self._broken()
                payloads.append(payload)
        except EOFError:
            if len(payloads) < len(held) or not held:
                raise self._died(process) from None
        return payloads

    def _answer(self, process: WorkerProcess, largest: int) -> tuple[bytes, bytes]:
        """Wait for the one frame that answers a command."""
        clocks = _Clocks(self._limits)
        with selectors.DefaultSelector() as selector:
            selector.register(process.results, selectors.EVENT_READ)
            selector.register(process.log, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select(_TICK):
                    if key.fd == process.log:
                        if not process.drain_log():
                            selector.unregister(key.fd)
                        continue
                    try:
                        for frame, payload in process.frames(largest):
                            if frame == worker.FAILED:
                                raise self._failed(process, payload)
                            return frame, payload
                    except EOFError:
                        raise self._died(process) from None
                self._check_clocks(process, clocks)

    def _unpack(self, block: _Block, payload: bytes) -> int:
        """Check a block's bytes and take its chunks over.

        :returns: How many bytes of text it has.
        """
        head = worker.BLOCK_HEAD
        try:
            documents, chunks = head.unpack_from(payload)
            if documents != len(block.ordinals) or head.size + 4 * documents + 8 * chunks > len(payload):
                raise self._broken()
            numbers = np.frombuffer(payload, np.uint32, documents + 2 * chunks, head.size)
            counts, lengths, meta = np.split(numbers, [documents, documents + chunks])
            text_bytes = int(lengths.sum(dtype=np.int64))
            begin = head.size + numbers.nbytes
            if int(counts.sum(dtype=np.int64)) != chunks or (counts > self._limits.chunks).any():
                raise self._broken()
            if begin + text_bytes + int(meta.sum(dtype=np.int64)) != len(payload):
                raise self._broken()
            block.texts = _cut(payload, begin, lengths)
            metas = _cut(payload, begin + text_bytes, meta)
            block.metadata = [_metadata(text) for text in metas]
        except (struct.error, UnicodeDecodeError, ValueError) as error:
            raise self._broken() from error
        block.counts = counts
        return text_bytes

    def _collect(self, blocks: list[_Block], metadata: bool, seconds: float) -> ProgramOutput:
        """Join the blocks' results in the order of the file."""
        backwards = bool(blocks) and blocks[0].ordinals.step < 0
        texts: list[str] = []
        metas: list[dict[str, Any] | None] = []
        owners = []
        for block in reversed(blocks) if backwards else blocks:
            assert block.counts is not None
            ordinals = np.fromiter(block.ordinals, np.int64, len(block.ordinals))
            owner = np.repeat(ordinals, block.counts)
            order = np.argsort(owner, kind="stable") if backwards else np.arange(len(owner))
            owners.append(owner[order])
            texts += [block.texts[i] for i in order] if backwards else block.texts
            if metadata:
                metas += [block.metadata[i] for i in order] if backwards else block.metadata
        documents = np.concatenate(owners) if owners else np.empty(0, np.int64)
        return ProgramOutput(ChunkTable(texts, documents, self.documents.document_ids), metas, seconds)

    def _parse_state(self, payload: bytes) -> dict[str, Any]:
        try:
            state = json.loads(payload)
        except ValueError as error:
            raise self._broken() from error
        if not isinstance(state, dict) or len(payload) > self._limits.state_bytes:
            raise self._broken()
        return state

    def _check_clocks(self, process: WorkerProcess, clocks: "_Clocks") -> None:
        if limit := clocks.expired(process):
            document_id = self._name(process.position)
            at = f" at document {document_id}" if document_id is not None else ""
            msg = f"the program ran longer than {limit:g} seconds{at}; it was stopped"
            raise ProgramError(msg, document_id=document_id)

    def _failed(self, process: WorkerProcess, payload: bytes) -> ProgramError:
        """Make an error of a worker's report, which is untrusted text."""
        try:
            report = json.loads(payload)
            message, trace = str(report["message"])[:2_000], str(report["traceback"])[:20_000]
        except (ValueError, KeyError, TypeError, RecursionError):
            message, trace = "failed in an unknown way", ""
        document_id = self._name(process.position)
        at = f" at document {document_id}" if document_id is not None else ""
        return ProgramError(f"the program {message}{at}", document_id=document_id, program_traceback=trace)

    def _died(self, process: WorkerProcess) -> ProgramError:
        document_id = self._name(process.position)
        at = f" at document {document_id}" if document_id is not None else ""
        process.drain_log()
        ending = process.ending()
        return ProgramError(
            f"the program's worker {ending}{at}", document_id=document_id, program_traceback=process.log_text
        )

    def _broken(self) -> SandboxError:
        return SandboxError("the worker sent a result that breaks the protocol; the program cannot be trusted")

    def _name(self, ordinal: int | None) -> str | None:
        return self.documents.document_ids[ordinal] if ordinal is not None and ordinal < len(self.documents) else None


class _Clocks:
    """The deadline of a task and, for each worker, how long it has been at one document."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._began = time.monotonic()
        self._seen: dict[int, tuple[int | None, float]] = {}

    def expired(self, process: WorkerProcess) -> float | None:
        """Returns the limit in seconds that has passed, or None."""
        now = time.monotonic()
        if now - self._began > self._limits.seconds:
            return self._limits.seconds
        position, since = self._seen.get(process.pid, (None, now))
        if process.position != position:
            position, since = process.position, now
        self._seen[process.pid] = (position, since)
        if position is not None and now - since > self._limits.document_seconds:
            return self._limits.document_seconds
        return None


def _cut(payload: bytes, begin: int, lengths: NDArray[np.uint32]) -> list[str]:
    """Decode consecutive pieces of UTF-8."""
    ends = (np.cumsum(lengths, dtype=np.int64) + begin).tolist()
    starts = [begin, *ends[:-1]] if ends else []
    return [payload[start:end].decode("utf-8") for start, end in zip(starts, ends, strict=True)]


def _metadata(text: str) -> dict[str, Any] | None:
    if not text:
        return None
    value = json.loads(text)
    if not isinstance(value, dict):
        msg = "chunk metadata is no object"
        raise ValueError(msg)
    return value


def _sample(documents: DocumentFile, limits: Limits) -> list[int]:
    """The ordinals that ``calibrate`` sees, in corpus order: all, or a seeded sample within the limits."""
    count = len(documents)
    if count <= limits.sample_documents and int(documents.sizes.sum()) <= limits.sample_bytes:
        return list(range(count))
    order = np.random.default_rng(0).permutation(count)[: limits.sample_documents]
    within = np.cumsum(documents.sizes[order]) <= limits.sample_bytes
    return sorted(order[within].tolist())
