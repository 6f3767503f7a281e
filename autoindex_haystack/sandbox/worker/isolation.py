"""Locking this process, for good and before any line of a program: layer after layer, then a test of the effect."""

import fcntl
import os
import signal
import sys
from collections.abc import Sequence

from .limits import limit_process
from .protocol import LIFELINE
from .shelf import preload

FULL, PROCESS_ONLY = "full", "process-only"

_THROWN_AWAY = ("kernel", "landlock", "seccomp", "selftest", "syscalls")

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""Libraries would start threads, which a locked process cannot."""


def isolate(
    mode: str, memory: int, parent: int, modules: Sequence[str], packages: Sequence[str], paths: Sequence[str],
    readable: Sequence[str], codecs: bool,
) -> tuple[list[str], str]:  # fmt: skip
    """Put all layers in force.

    :param mode: ``full``, or ``process-only`` for no layer of the kernel's beside limits.
    :param memory: Address space in bytes.
    :param parent: The host's process id if the thread that started this process ends with the host, else 0.
    :param modules: Modules of the standard library that the program may import.
    :param packages: Other modules that it may import; with any, files of ``readable`` can be read.
    :param paths: Where these are found.
    :param readable: Folders and files that they read.
    :param codecs: Whether other codecs than UTF-8 are needed.
    :returns: The layers in force and, when a layer cannot be had, the reason.
    """
    layers = ["fresh interpreter", "empty environment", "process group with a deadline"]
    sys.path += paths
    os.environ |= dict.fromkeys(_ONE_THREAD if packages else (), "1")
    preload((*modules, *packages), codecs=codecs)
    if _tie_to_host():
        layers.append("ends with the host")
    limit_process(memory, descriptors=64 if packages else 16)
    layers.append("resource limits")
    if mode == PROCESS_ONLY:
        return layers, ""
    from .kernel import Kernel, Refused
    from .landlock import restrict_files
    from .selftest import check_locked

    try:
        kernel = Kernel()
        if parent:
            kernel.die_with_parent(parent)
        kernel.drop_capabilities()
        kernel.forbid_new_privileges()
        kernel.hide_memory()
        layers += ["no capabilities", "no new privileges", "memory hidden from other processes"]
        version = restrict_files(kernel, list(readable) if packages else [])
        if version:
            layers.append(f"Landlock {version}")
        elif packages:
            return layers, "programs that import further packages need Landlock, which this kernel does not have"
        kernel.filter_calls(libraries=bool(packages))
        layers.append(f"seccomp, {'read-only libraries' if packages else 'no file system'}")
        check_locked(kernel, libraries=bool(packages))
        layers.append("self-test")
    except Refused as error:
        return layers, str(error)
    finally:
        _throw_away()
    return layers, ""


def _tie_to_host() -> bool:
    """Have the kernel kill this process when the host's end of the lifeline is closed, however the host ended.

    The usual parent-death signal comes when the *thread* ends that started the process, which in a host with a thread
    pool is any time. The end of a pipe is closed with the process alone. No thread of ours is needed for it, and no
    program can undo it, which after the locking can neither call fcntl nor close the lifeline.
    """
    if not hasattr(fcntl, "F_SETSIG"):
        return False
    fcntl.fcntl(LIFELINE, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(LIFELINE, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(LIFELINE, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    try:
        os.read(LIFELINE, 1)
    except BlockingIOError:
        return True
    # The host was gone before.
    os._exit(0)


def _throw_away() -> None:
    """Forget the modules that call the kernel."""
    package = __name__.rpartition(".")[0]
    for name in _THROWN_AWAY:
        sys.modules.pop(f"{package}.{name}", None)
        vars(sys.modules[package]).pop(name, None)
    for name in ("ctypes", "_ctypes", "ctypes._endian"):
        sys.modules.pop(name, None)
