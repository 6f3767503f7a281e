"""The few calls of the kernel that lock a process, by ctypes. Loaded for the locking and thrown away before a program.

What remains of ctypes in the process does no harm: the filter bounds native code as it does Python.
"""

import ctypes
import errno
import os
import struct

from .seccomp import build_filter
from .syscalls import ARCHITECTURES, numbers

_SET_PDEATHSIG, _SET_DUMPABLE, _CAPBSET_DROP, _SET_NO_NEW_PRIVS, _CAP_AMBIENT = 1, 4, 24, 38, 47
_AMBIENT_CLEAR_ALL = 4
_SECCOMP_SET_MODE_FILTER = 1
_CAPABILITY_VERSION = 0x20080522
_MOST_CAPABILITIES = 64


class Refused(Exception):
    """The kernel does not give a layer; the message is a reason that completes 'isolation is not available: …'."""


class Kernel:
    """The kernel of this machine.

    :raises Refused: If it is none whose calls are known here.
    """

    def __init__(self) -> None:
        system, _, _, _, self.machine = os.uname()
        if system != "Linux" or self.machine not in ARCHITECTURES or struct.calcsize("P") != 8:
            raise Refused(f"it needs 64-bit Linux on {' or '.join(ARCHITECTURES)}; this is {system} {self.machine}")
        self.number = numbers(self.machine)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.syscall.restype = ctypes.c_long

    def call(self, name: str, *arguments: int | bytes | None) -> tuple[int, int]:
        """Make a system call.

        :param name: A name of :mod:`.syscalls`.
        :param arguments: Its arguments.
        :returns: The result and, when that is negative, the error number, else 0.
        """
        packed = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) for a in arguments]
        ctypes.set_errno(0)
        result = int(self._libc.syscall(ctypes.c_long(self.number[name]), *packed))
        return result, ctypes.get_errno() if result < 0 else 0

    def die_with_parent(self, parent: int) -> None:
        """Ask for SIGKILL when the thread ends that started this process; it must be one that ends with the host."""
        self._prctl(_SET_PDEATHSIG, 9)
        if os.getppid() != parent:
            os._exit(0)

    def drop_capabilities(self) -> None:
        """Give up all capabilities, root's too, and the way back to them."""
        for capability in range(_MOST_CAPABILITIES):
            # Without CAP_SETPCAP this is refused, and not needed: no_new_privs holds.
            self._libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)
        self._libc.prctl(_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
        header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
        if self._libc.capset(header, bytes(24)) != 0:
            raise Refused(f"capabilities cannot be dropped ({os.strerror(ctypes.get_errno())})")
        held = ctypes.create_string_buffer(24)
        if self._libc.capget(header, held) != 0 or any(held.raw):
            raise Refused("capabilities were dropped but are still there")

    def forbid_new_privileges(self) -> None:
        """No program that is ever executed shall gain anything."""
        self._prctl(_SET_NO_NEW_PRIVS, 1)

    def hide_memory(self) -> None:
        """No other process of this user shall read or trace this one, and no core dump shall hold documents."""
        self._prctl(_SET_DUMPABLE, 0)

    def filter_calls(self, *, libraries: bool) -> None:
        """Install the seccomp filter.

        :param libraries: Whether files can be read.
        """
        program = build_filter(self.machine, os.getpid(), libraries=libraries)
        kept = ctypes.create_string_buffer(program, len(program))
        header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(kept))
        result, code = self.call("seccomp", _SECCOMP_SET_MODE_FILTER, 0, header)
        if result != 0:
            why = "it has no seccomp filters" if code in (errno.ENOSYS, errno.EINVAL) else os.strerror(code)
            raise Refused(f"the kernel, or the container that this runs in, refuses seccomp ({why})")

    def _prctl(self, option: int, value: int) -> None:
        if self._libc.prctl(option, value, 0, 0, 0) != 0:
            raise Refused(f"prctl {option} is refused ({os.strerror(ctypes.get_errno())})")
