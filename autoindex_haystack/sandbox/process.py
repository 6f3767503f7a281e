"""One worker process as the host sees it: start, commands, frames, end."""

import fcntl
import functools
import json
import marshal
import mmap
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from autoindex_haystack.errors import SandboxError
from autoindex_haystack.sandbox import worker
from autoindex_haystack.sandbox.worker import protocol

LOG_BYTES = 64 << 10
"""How much of the end of a worker's log is kept."""

_PACKAGE = "worker"
"""What the worker calls the package of its modules."""

_START = """\
import marshal, os
data = b""
while len(data) < {size}:
    data += os.read(0, {size} - len(data))
code, finder = marshal.loads(data), {{"__name__": "{package}.finder"}}
exec(marshal.loads(code["{package}.finder"]), finder)
finder["start"](code, "{package}", {descriptors})
"""
"""The worker's first lines, which read its modules from the pipe of the commands."""

_READ = 1 << 20
_SEND_SECONDS = 30.0
"""How long a worker may leave a command in the pipe: it reads at once unless it was taken over."""


class WorkerProcess:
    """A fresh interpreter with an empty environment, in a process group of its own.

    :param documents: Descriptor of the document file.
    :param hash_seed: The worker's PYTHONHASHSEED.
    :raises SandboxError: If no interpreter can be started.
    """

    def __init__(self, documents: int, hash_seed: int = 0) -> None:
        lifeline, self._lifeline = os.pipe()
        try:
            with _page() as page:
                self._page = mmap.mmap(page.fileno(), protocol.PAGE)
                _seal(page.fileno())
                self._process = _spawn(documents, page.fileno(), lifeline, hash_seed)
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(lifeline)
        self.parent = os.getpid() if threading.current_thread() is threading.main_thread() else 0
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._commands = self._process.stdin.fileno()
        self.results = self._process.stdout.fileno()
        self.log = self._process.stderr.fileno()
        for descriptor in (self._commands, self.results, self.log):
            os.set_blocking(descriptor, False)
        _widen(self._commands, len(_worker_code()))
        _widen(self.results, _READ)
        self._buffer = bytearray()
        self._log = bytearray()
        try:
            self._write(_worker_code())
        except BaseException:
            self.close()
            raise

    def send(self, command: dict[str, Any]) -> None:
        """Send a command. A worker that is gone is noticed when its results are read.

        :param command: The command, as JSON has it.
        :raises SandboxError: If the worker does not take it.
        """
        self._write(json.dumps(command).encode("utf-8") + b"\n")

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        deadline = time.monotonic() + _SEND_SECONDS
        with suppress(BrokenPipeError), selectors.DefaultSelector() as selector:
            selector.register(self._commands, selectors.EVENT_WRITE)
            while view:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    msg = "the worker takes no more commands; the program cannot be trusted"
                    raise SandboxError(msg)
                with suppress(BlockingIOError):
                    view = view[os.write(self._commands, view) :]

    def frames(self, largest: int) -> Iterator[tuple[bytes, bytes]]:
        """Read what has arrived and give the frames that are whole.

        :param largest: Bytes that a frame may have.
        :returns: Pairs of kind and payload.
        :raises EOFError: If the worker has closed its results.
        :raises SandboxError: If a frame is no frame or larger than allowed.
        """
        ended = not self._read()
        head = protocol.FRAME
        while len(self._buffer) >= head.size:
            kind, length = head.unpack_from(self._buffer)
            if kind not in protocol.KINDS or length > largest:
                raise broken_protocol()
            if len(self._buffer) < head.size + length:
                break
            payload = bytes(memoryview(self._buffer)[head.size : head.size + length])
            del self._buffer[: head.size + length]
            yield kind, payload
        if ended:
            raise EOFError

    def _read(self) -> bool:
        """Read what has arrived; False at the end of the stream."""
        with suppress(BlockingIOError):
            while True:
                data = os.read(self.results, _READ)
                if not data:
                    return False
                self._buffer += data
                if len(data) < _READ:
                    return True
        return True

    def drain_log(self) -> bool:
        """Take over what the worker wrote to its log; False at the end of the stream."""
        with suppress(BlockingIOError):
            data = os.read(self.log, _READ)
            self._log += data
            del self._log[:-LOG_BYTES]
            return bool(data)
        return True

    @property
    def log_text(self) -> str:
        """The end of what the program printed and the interpreter complained about."""
        return self._log.decode("utf-8", "replace")

    @property
    def position(self) -> int | None:
        """The ordinal of the document at which the program is, or None."""
        value = int.from_bytes(self._page[:8], "little")
        return value - 1 if value else None

    @property
    def pid(self) -> int:
        """The process id, which is also the process group."""
        return self._process.pid

    def ending(self) -> str:
        """Kill what is left and say how the process ended."""
        self.close()
        code = self._process.returncode
        if code < 0:
            with suppress(ValueError):
                return f"was ended by {signal.Signals(-code).name}"
        return f"ended with code {code}"

    def close(self) -> None:
        """Kill the process group and release everything. Closing twice is fine."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream
            stream.close()
        self._page.close()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1


def broken_protocol() -> SandboxError:
    """Returns the error for a worker whose results are none."""
    return SandboxError("the worker sent a result that breaks the protocol; the program cannot be trusted")


def _page() -> BinaryIO:
    """A page that is shared with the worker and lies in memory where the system can do that."""
    if hasattr(os, "memfd_create"):
        page: BinaryIO = os.fdopen(os.memfd_create("autoindex", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "r+b")
    else:
        page = tempfile.TemporaryFile(prefix="autoindex-")  # noqa: SIM115 - closed by the caller
    page.truncate(protocol.PAGE)
    return page


def _widen(pipe: int, size: int) -> None:
    """Let a pipe hold so many bytes, where the system allows it: fewer turns between host and worker."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, size)


def _seal(page: int) -> None:
    """Fix the size of the page: the host would be killed by reading what a worker has cut off."""
    if hasattr(fcntl, "F_ADD_SEALS"):
        with suppress(OSError):
            fcntl.fcntl(page, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)


@functools.cache
def _worker_code() -> bytes:
    """The worker's modules as byte code, so that no worker compiles them again where byte code is not kept in files."""
    code: dict[str, bytes] = {}
    for path in sorted(Path(worker.__file__).parent.glob("*.py")):
        name = _PACKAGE if path.stem == "__init__" else f"{_PACKAGE}.{path.stem}"
        code[name] = marshal.dumps(compile(path.read_bytes(), f"<{name}>", "exec", dont_inherit=True, optimize=2))
    return marshal.dumps(code)


def _spawn(documents: int, page: int, lifeline: int, hash_seed: int) -> subprocess.Popen[bytes]:
    if not sys.executable:
        msg = "this process does not know its Python interpreter (sys.executable), so no worker can be started"
        raise SandboxError(msg)
    start = _START.format(size=len(_worker_code()), package=_PACKAGE, descriptors=[documents, page, lifeline])
    try:
        return subprocess.Popen(
            [sys.executable, "-s", "-S", "-B", "-P", "-X", "utf8", "-c", start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PYTHONHASHSEED": str(hash_seed)},
            cwd="/",
            pass_fds=(documents, page, lifeline),
            start_new_session=True,
        )
    except OSError as error:
        msg = f"no worker can be started from {sys.executable} ({error})"
        raise SandboxError(msg) from error
