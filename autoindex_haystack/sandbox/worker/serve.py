"""The worker's loop: commands in, frames out."""

import fcntl
import json
import mmap
import os
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .chunks import by_document, encode_metadata, encode_texts, to_json
from .documents import Documents, as_document
from .errors import Rejected, failure, kind
from .isolation import isolate
from .limits import limit_processor
from .program import BasePreprocessor, Document, load, reseed
from .protocol import (
    BLOCK,
    BLOCK_HEAD,
    DOCUMENTS,
    FAILED,
    FRAME,
    ISOLATED,
    LIFELINE,
    LOG,
    PAGE,
    PROGRESS,
    READY,
    RESULTS,
    STATE,
)

_SAMPLED = 64
"""Documents that are read at a time for ``calibrate``."""


class Sample:
    """The documents that ``calibrate`` is given: read one after the other, as often as it likes.

    :param documents: All documents.
    :param ordinals: Those of the sample.
    :param at: Called with the ordinal of the document that is given, with None after the last.
    """

    def __init__(self, documents: Documents, ordinals: list[int], at: Callable[[int | None], None]) -> None:
        self._documents, self._ordinals, self._at = documents, ordinals, at

    def __len__(self) -> int:
        return len(self._ordinals)

    def __iter__(self) -> Iterator[Document]:
        for begin in range(0, len(self._ordinals), _SAMPLED):
            part = self._ordinals[begin : begin + _SAMPLED]
            for ordinal, raw in zip(part, self._documents.read(part), strict=True):
                self._at(ordinal)
                yield as_document(raw)
        self._at(None)


class Worker:
    """Carries out the host's commands: the methods ``do_…``, whose parameters are the fields of the command.

    :param results: The descriptor to which frames are written.
    """

    _program: Any
    _key: bytes
    _limits: dict[str, int]
    _seconds: float

    def __init__(self, results: int) -> None:
        self._results = results
        self._page = mmap.mmap(PROGRESS, PAGE)

    def serve(self) -> None:
        """Carry out commands until the host closes the pipe or the program fails."""
        for line in sys.stdin.buffer:
            command = json.loads(line)
            try:
                getattr(self, "do_" + command.pop("do"))(**command)
            except BaseException as error:
                # A program may raise anything, SystemExit included.
                self._send(FAILED, json.dumps(failure(error)).encode())
                return

    def do_isolate(self, **how: Any) -> None:
        """Lock this process and tell what is in force; nothing of the program has come yet."""
        layers, missing = isolate(**how)
        self._send(ISOLATED, json.dumps({"layers": layers, "missing": missing}).encode())

    def do_load(
        self,
        source: str,
        state: str,
        modules: list[str],
        packages: list[str],
        key: str,
        limits: dict[str, int],
        seconds: float,
    ) -> None:
        """Run the program's module code and make its Preprocessor."""
        limit_processor(seconds)
        self._limits, self._seconds, self._key = limits, seconds, bytes.fromhex(key)
        self._at(None)
        found = load(source, modules, packages).get("Preprocessor")
        if not (isinstance(found, type) and issubclass(found, BasePreprocessor)):
            raise Rejected("has no class Preprocessor that derives from BasePreprocessor")
        if found.preprocess is BasePreprocessor.preprocess:
            raise Rejected("has no method preprocess(self, docs)")
        self._program = found()
        self._program.state = json.loads(state)
        calibrates = found.calibrate is not BasePreprocessor.calibrate
        self._send(READY, json.dumps({"calibrates": calibrates}).encode())

    def do_calibrate(self, ordinals: list[int], bounds_at: int) -> None:
        """Call ``calibrate`` over the sample and send its result as JSON."""
        limit_processor(self._seconds)
        reseed()
        state = self._program.calibrate(Sample(Documents(self._key, bounds_at), ordinals, self._at))
        self._at(None)
        if not isinstance(state, dict):
            raise Rejected("returned " + kind(state) + " from calibrate; return a dict")
        try:
            # Sorted as strings, which keys may not have been: everyone shall iterate over the state in the same order.
            encoded = to_json(json.loads(to_json(state)), sort_keys=True)
        except (TypeError, ValueError) as error:
            raise Rejected("returned a state that is no JSON from calibrate: " + str(error)) from None
        most = self._limits["state_bytes"]
        if len(encoded) > most:
            raise Rejected(f"returned a state of {len(encoded):,} bytes; at most {most:,} are allowed")
        self._send(STATE, encoded)

    def do_run(self, ordinals: list[int], bounds_at: int, batch: int, metadata: bool) -> None:
        """Call ``preprocess`` over a block of documents, ``batch`` of them at a call, and send the chunks."""
        limit_processor(self._seconds)
        counts: list[int] = []
        texts: list[bytes] = []
        metas: list[bytes] = []
        raws = Documents(self._key, bounds_at).read(ordinals)
        for begin in range(0, len(ordinals), batch):
            part, given = ordinals[begin : begin + batch], raws[begin : begin + batch]
            self._at(part[0])
            docs = [as_document(raw) for raw in given]
            reseed()
            returned = self._program.preprocess(docs)
            groups = by_document([name for name, _, _ in given], returned, self._limits["chunks"])
            for ordinal, (_, text, own), chunks in zip(part, given, groups, strict=True):
                self._at(ordinal)
                most = max(self._limits["floor"], self._limits["document_growth"] * (len(text) + len(own)))
                counts.append(len(chunks))
                texts += encode_texts(chunks, self._limits["chunks"], most)
                if metadata:
                    metas += encode_metadata(chunks, own, most)
        self._at(None)
        lengths = (*counts, *map(len, texts), *(map(len, metas) if metadata else [0] * len(texts)))
        numbers = struct.pack(f"<{len(lengths)}I", *lengths)
        self._send(BLOCK, b"".join([BLOCK_HEAD.pack(len(counts), len(texts)), numbers, *texts, *metas]))

    def _at(self, ordinal: int | None) -> None:
        """Tell the host at which document the program is."""
        self._page[:8] = (0 if ordinal is None else ordinal + 1).to_bytes(8, "little")

    def _send(self, frame: bytes, payload: bytes) -> None:
        view = memoryview(FRAME.pack(frame, len(payload)) + payload)
        while view:
            view = view[os.write(self._results, view) :]


def main(documents: int, progress: int, lifeline: int) -> None:
    """Put the descriptors where the protocol has them and serve.

    :param documents: The inherited descriptor of the document file.
    :param progress: The inherited descriptor of the shared page.
    :param lifeline: The inherited descriptor that ends with the host.
    """
    inherited = (documents, progress, lifeline)
    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, LIFELINE + 1) for descriptor in inherited]
    os.closerange(PROGRESS + 1, LIFELINE + 1)
    for descriptor, place in zip(moved, (DOCUMENTS, PROGRESS, LIFELINE), strict=True):
        os.dup2(descriptor, place)
    os.closerange(LIFELINE + 1, max(*inherited, *moved) + 1)
    # What the program prints shall go to the log, also when it is written to descriptor 1.
    results = os.dup(RESULTS)
    os.dup2(LOG, RESULTS)
    sys.stdout = open(LOG, "w", encoding="utf-8", errors="replace", closefd=False, buffering=1)  # noqa: SIM115
    sys.stderr = sys.stdout
    Worker(results).serve()
