"""The test of the effect: a locked worker tries what it must not be able to do, before the first line of a program."""

import errno
import os

from .kernel import Kernel, Refused

_AT_FDCWD, _INET, _STREAM, _CHILD = -100, 2, 1, 17


def check_locked(kernel: Kernel, *, libraries: bool) -> None:
    """Try to open, to connect, to fork, to signal, to trace, to execute and to map code.

    :param kernel: The kernel.
    :param libraries: Whether files can be read, so that Landlock is what keeps other files closed.
    :raises Refused: If anything of it works.
    """
    closed = errno.EACCES if libraries else errno.EPERM
    # The arguments are such that a call that got through would do no harm, and would fail in another way or succeed.
    attempts: dict[str, tuple[int, str, tuple[int | bytes | None, ...]]] = {
        "open a folder": (closed, "openat", (_AT_FDCWD, b"/", os.O_RDONLY)),
        "open a file": (closed, "openat", (_AT_FDCWD, b"/proc/self/environ", os.O_RDONLY)),
        "write a file": (errno.EPERM, "openat", (_AT_FDCWD, b"/dev/null", os.O_WRONLY)),
        "make a socket": (errno.EPERM, "socket", (_INET, _STREAM, 0)),
        "send a signal": (errno.EPERM, "kill", (os.getpid(), 0)),
        "trace a process": (errno.EPERM, "ptrace", (0, 0, 0, 0)),
        "execute a program": (errno.EPERM, "execve", (None, None, None)),
        "leave a namespace": (errno.EPERM, "unshare", (0,)),
        "map code": (errno.EPERM, "mmap", (0, 4096, 7, 0x22, -1, 0)),
        "fork by clone3": (errno.ENOSYS, "clone3", (None, 0)),
    }
    for what, (expected, name, arguments) in attempts.items():
        _, code = kernel.call(name, *arguments)
        if code != expected:
            raise Refused(f"the self-test could {what} or failed in another way than by the lock ({code})")
    _check_fork(kernel)


def _check_fork(kernel: Kernel) -> None:
    result, code = kernel.call("clone", _CHILD, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
    if code != errno.EPERM:
        raise Refused("the self-test could fork")
