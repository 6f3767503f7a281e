"""The worker: a fresh interpreter that runs one program over documents and writes what it returns as bytes.

This file is run by path (``python -s -S -B -P worker.py``) with an environment made from nothing. It imports the standard
library only and knows nothing of queries, judgments, paths or the host. It reads commands as JSON lines from descriptor 0,
documents from descriptor 3 (see :mod:`autoindex_haystack.sandbox.documents`), tells on the shared page of descriptor 4 at
which document it is, and writes frames to what was descriptor 1. The program's own output goes to descriptor 2.

The host imports this module for the frame format; importing it does nothing else.
"""

import hashlib
import json
import mmap
import os
import struct
import sys
import traceback

COMMANDS, RESULTS, LOG, DOCUMENTS, PROGRESS = range(5)
FRAME = struct.Struct("<cQ")
"""Head of a frame: its kind and the length of what follows."""

READY, BLOCK, STATE, FAILED = b"R", b"B", b"S", b"E"

BLOCK_HEAD = struct.Struct("<QQ")
"""Head of a block: number of documents and of chunks. Then uint32 chunks of each document, uint32 length of each text,
uint32 length of each metadata (0: the document's own), then all texts and all metadata in UTF-8."""

DOCUMENTS_HEAD = struct.Struct("<Q")
"""Head of the document file: number of documents. Then 2n + 1 uint64 bounds of text and metadata, then UTF-8 bytes."""

FILE_NAME = "/autoindex/representation/programs/current/candidate/program.py"
"""The made-up ``__file__`` of programs: deep enough for programs that look at their parent folders."""

BOUNDS = struct.Struct("<QQQ")
"""Where a document's text begins, where its metadata begins, where it ends."""

PAGE = 4096
KEY_BYTES = 16


def opaque_id(key, ordinal):
    """The id that a program sees for a document: a keyed hash, so that it tells nothing."""
    return hashlib.blake2b(ordinal.to_bytes(8, "little"), digest_size=KEY_BYTES, key=key).hexdigest()


class Rejected(Exception):
    """The program broke the contract; the message completes 'the program …'."""


class Documents:
    """The document file, read by offset."""

    def __init__(self, make, key):
        self._make, self._key = make, key

    def __getitem__(self, ordinal):
        begin, middle, end = self._bounds(ordinal)
        data = os.pread(DOCUMENTS, end - begin, begin)
        text = data[: middle - begin].decode("utf-8")
        metadata = json.loads(data[middle - begin :]) if end > middle else {}
        return self._make(opaque_id(self._key, ordinal), text, metadata)

    def size(self, ordinal):
        begin, _, end = self._bounds(ordinal)
        return end - begin

    def _bounds(self, ordinal):
        return BOUNDS.unpack(os.pread(DOCUMENTS, BOUNDS.size, DOCUMENTS_HEAD.size + 16 * ordinal))


class Worker:
    def __init__(self, results):
        self._results = results
        self._page = mmap.mmap(PROGRESS, PAGE)

    def serve(self):
        """Carry out commands until the host closes the pipe."""
        for line in sys.stdin.buffer:
            command = json.loads(line)
            try:
                getattr(self, "do_" + command.pop("do"))(**command)
            except BaseException as error:  # noqa: BLE001 - a program may raise anything, SystemExit included
                self._send(FAILED, json.dumps(self._failure(error)).encode("utf-8", "replace"))
                return

    def do_load(self, source, state, limits, modules, key, memory, seconds):
        """Run the program's module code and make its Preprocessor."""
        limit(memory, seconds)
        self._limits = limits
        self._key = bytes.fromhex(key)
        self._at(None)
        namespace, chunk, document = load(source, modules)
        self._chunk, self._documents = chunk, Documents(document, bytes.fromhex(key))
        found = namespace.get("Preprocessor")
        base = namespace["__base__"]
        if not (isinstance(found, type) and issubclass(found, base)):
            raise Rejected("has no class Preprocessor that derives from BasePreprocessor")
        if found.preprocess is base.preprocess:
            raise Rejected("has no method preprocess(self, docs)")
        self._program = found()
        self._program.state = json.loads(state)
        calibrates = found.calibrate is not base.calibrate
        self._send(READY, json.dumps({"calibrates": calibrates}).encode())

    def do_calibrate(self, ordinals):
        """Call ``calibrate`` over the sample and send its result as JSON."""

        def sample():
            for ordinal in ordinals:
                self._at(ordinal)
                yield self._documents[ordinal]

        reseed()
        state = self._program.calibrate(sample())
        self._at(None)
        if not isinstance(state, dict):
            raise Rejected("returned " + kind(state) + " from calibrate; return a dict")
        try:
            encoded = json.dumps(state, allow_nan=False, sort_keys=True, ensure_ascii=False).encode("utf-8")
        except (TypeError, ValueError) as error:
            raise Rejected("returned a state that is no JSON from calibrate: " + str(error)) from None
        if len(encoded) > self._limits["state_bytes"]:
            raise Rejected(f"returned a state of {len(encoded):,} bytes; at most {self._limits['state_bytes']:,} are allowed")
        self._send(STATE, encoded)

    def do_run(self, ordinals, batch, metadata):
        """Call ``preprocess`` over a block of documents and send the chunks.

        ``ordinals`` is [start, stop, step]; ``batch`` documents are given at a call.
        """
        ordinals = range(*ordinals)
        counts, lengths, texts, meta_lengths, metas = [], [], [], [], []
        for begin in range(0, len(ordinals), batch):
            part = ordinals[begin : begin + batch]
            self._at(part[0])
            docs = [self._documents[ordinal] for ordinal in part]
            reseed()
            for ordinal, doc, chunks in self._by_document(part, docs, self._program.preprocess(docs)):
                self._at(ordinal)
                encoded = self._encode(ordinal, chunks)
                counts.append(len(encoded))
                texts += encoded
                lengths += map(len, encoded)
                if metadata:
                    own = [self._encode_metadata(chunk, doc) for chunk in chunks]
                    metas += own
                    meta_lengths += map(len, own)
                else:
                    meta_lengths += [0] * len(encoded)
        self._at(None)
        numbers = struct.pack(f"<{len(counts)}I{2 * len(lengths)}I", *counts, *lengths, *meta_lengths)
        self._send(BLOCK, b"".join([BLOCK_HEAD.pack(len(counts), len(lengths)), numbers, *texts, *metas]))

    def _by_document(self, ordinals, docs, chunks):
        """Check what ``preprocess`` returned and sort it by document."""
        if not isinstance(chunks, list):
            raise Rejected("returned " + kind(chunks) + " from preprocess; return a list of Chunk")
        # The ids are computed again: a program may have changed the documents it was given.
        groups = {opaque_id(self._key, ordinal): [] for ordinal in ordinals}
        for chunk in chunks:
            if not isinstance(chunk, self._chunk):
                raise Rejected("returned " + kind(chunk) + " where a Chunk is needed")
            if type(chunk.doc_id) is not str or chunk.doc_id not in groups:
                raise Rejected("returned a chunk with a foreign doc_id; use the doc_id of the document given")
            groups[chunk.doc_id].append(chunk)
        return zip(ordinals, docs, groups.values(), strict=True)

    def _encode(self, ordinal, chunks):
        """Check the chunks of one document and encode their texts."""
        if len(chunks) > self._limits["chunks"]:
            raise Rejected(f"returned {len(chunks):,} chunks for one document; at most {self._limits['chunks']:,} are allowed")
        seen, encoded, total = set(), [], 0
        allowed = max(self._limits["floor"], self._limits["document_growth"] * self._documents.size(ordinal))
        for chunk in chunks:
            if type(chunk.text) is not str:
                raise Rejected("returned a chunk whose text is " + kind(chunk.text) + "; it must be a str")
            if type(chunk.chunk_id) is not str:
                raise Rejected("returned a chunk whose chunk_id is " + kind(chunk.chunk_id) + "; it must be a str")
            if chunk.chunk_id in seen:
                raise Rejected("returned the same chunk_id twice for one document")
            seen.add(chunk.chunk_id)
            try:
                text = chunk.text.encode("utf-8")
            except UnicodeEncodeError:
                raise Rejected("returned a text that holds half a surrogate pair, which is no Unicode") from None
            total += len(text)
            if total > allowed:
                raise Rejected(f"returned more than {allowed:,} bytes for one document")
            encoded.append(text)
        return encoded

    def _encode_metadata(self, chunk, doc):
        if chunk.metadata is doc.metadata or not chunk.metadata:
            return b""
        try:
            return json.dumps(chunk.metadata, allow_nan=False).encode("utf-8")
        except (TypeError, ValueError) as error:
            raise Rejected("returned chunk metadata that is no JSON: " + str(error)) from None

    def _at(self, ordinal):
        """Tell the host at which document the program is."""
        self._page[:8] = (0 if ordinal is None else ordinal + 1).to_bytes(8, "little")

    def _failure(self, error):
        if isinstance(error, Rejected):
            return {"message": str(error), "traceback": ""}
        if isinstance(error, SystemExit):
            message = "called sys.exit; raise nothing and return the chunks"
        elif isinstance(error, MemoryError):
            message = "needs more memory than it is allowed"
        else:
            message = "raised " + type(error).__name__
        return {"message": message, "traceback": own_traceback(error)}

    def _send(self, frame, payload):
        view = memoryview(FRAME.pack(frame, len(payload)) + payload)
        while view:
            view = view[os.write(self._results, view) :]


def load(source, modules):
    """Run a program's module code with the modules it may import.

    :returns: Its namespace, and the classes Chunk and Document that it was given.
    """
    import builtins
    import dataclasses
    import linecache
    import types
    from typing import Any

    @dataclasses.dataclass
    class Document:
        doc_id: str
        text: str
        metadata: dict[str, Any] = dataclasses.field(default_factory=dict)

    @dataclasses.dataclass
    class Chunk:
        chunk_id: str
        doc_id: str
        text: str
        metadata: dict[str, Any] = dataclasses.field(default_factory=dict)

    class BasePreprocessor:
        name = ""
        description = ""

        def __init__(self):
            self.state = {}

        def calibrate(self, docs):
            return {}

        def preprocess(self, docs):
            raise NotImplementedError

    def module(name, **members):
        made = types.ModuleType(name)
        made.__dict__.update(members)
        return made

    contract = {"Document": Document, "Chunk": Chunk, "BasePreprocessor": BasePreprocessor}
    program = module("autoindex_haystack.program", **contract)
    provided = {
        "autoindex_haystack": module("autoindex_haystack", program=program),
        "autoindex_haystack.program": program,
        "schema": module("schema", **contract),
        "base": module("base", **contract),
        "sys": stand_in_for_sys(module),
        "pathlib": stand_in_for_pathlib(module),
    }
    real_import = builtins.__import__

    def import_allowed(name, globals=None, locals=None, fromlist=(), level=0):
        if level == 0 and name in provided:
            return provided[name] if fromlist else provided[name.partition(".")[0]]
        if level != 0 or not any(name == m or name.startswith(m + ".") for m in modules):
            raise ImportError(f"import of {name!r} is not allowed")
        return real_import(name, globals, locals, fromlist, level)

    allowed = {n: v for n, v in vars(builtins).items() if n not in ("open", "input", "breakpoint", "exit", "quit", "help")}
    allowed["__import__"] = import_allowed
    linecache.cache[FILE_NAME] = (len(source), None, source.splitlines(keepends=True), FILE_NAME)
    namespace = {"__builtins__": allowed, "__name__": "candidate", "__file__": FILE_NAME, "__base__": BasePreprocessor}
    sys.modules["candidate"] = module("candidate")  # dataclasses of the program look their module up
    sys.modules["candidate"].__dict__.update(namespace)
    namespace = sys.modules["candidate"].__dict__
    reseed()
    exec(compile(source, FILE_NAME, "exec", dont_inherit=True), namespace)  # noqa: S102
    namespace["__base__"] = BasePreprocessor
    return namespace, Chunk, Document


def stand_in_for_sys(module):
    """A harmless ``sys``: what text programs look at, nothing that reaches the interpreter."""

    def leave(code=None):
        raise SystemExit(code)

    names = ("maxsize", "maxunicode", "byteorder", "version_info", "version", "float_info", "int_info", "intern", "stdout")
    members = {name: getattr(sys, name) for name in names}
    return module("sys", path=[], argv=[FILE_NAME], modules={}, exit=leave, stderr=sys.stdout, **members)


def stand_in_for_pathlib(module):
    """A harmless ``pathlib``: path arithmetic without a file system."""
    from pathlib import PurePath, PurePosixPath, PureWindowsPath

    return module(
        "pathlib", Path=PurePosixPath, PurePath=PurePath, PurePosixPath=PurePosixPath, PureWindowsPath=PureWindowsPath
    )


def reseed():
    """Give ``random`` the same state before every call, if the program uses it."""
    random = sys.modules.get("random")
    if random is not None:
        random.seed(0)


def limit(memory, seconds):
    """Set the resource limits of this process."""
    import resource

    cpu = max(1, int(seconds) + 5)
    for name, value in (("AS", memory), ("CPU", cpu), ("FSIZE", 0), ("CORE", 0), ("NOFILE", 16), ("NPROC", 0)):
        number = getattr(resource, "RLIMIT_" + name, None)
        if number is not None:
            _, hard = resource.getrlimit(number)
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            try:
                resource.setrlimit(number, (value, value))
            except (OSError, ValueError):
                # macOS refuses RLIMIT_AS; the host's deadline still holds.
                continue


def own_traceback(error):
    """The error's traceback from the program's first frame on."""
    frames = traceback.extract_tb(error.__traceback__)
    first = next((i for i, frame in enumerate(frames) if frame.filename == FILE_NAME), None)
    if isinstance(error, SyntaxError) or first is None:
        return "".join(traceback.format_exception_only(error))
    shown = [(frame.filename.rpartition("/")[2], frame) for frame in frames[first:]]
    lines = [f'  File "{name}", line {frame.lineno}, in {frame.name}\n    {frame.line}\n' for name, frame in shown[-20:]]
    return "".join(["Traceback of the program:\n", *lines, *traceback.format_exception_only(error)])


def kind(value):
    return "None" if value is None else "a " + type(value).__name__


def main():
    """Move the results away from descriptor 1, so that what the program prints goes to the log, and serve."""
    results = os.dup(RESULTS)
    os.dup2(LOG, RESULTS)
    sys.stdout = open(LOG, "w", encoding="utf-8", errors="replace", closefd=False, buffering=1)  # noqa: SIM115
    sys.stderr = sys.stdout
    Worker(results).serve()


if __name__ == "__main__":
    main()
