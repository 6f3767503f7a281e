"""The system calls that a locked worker keeps, with their numbers; every other one is refused.

Numbers are those of the kernel's tables, ``arch/x86/entry/syscalls/syscall_64.tbl`` and
``include/uapi/asm-generic/unistd.h``. A call is allowed always, or only when its arguments pass a rule.
"""

from typing import NamedTuple


class Test(NamedTuple):
    """One test of the lower half of an argument; the kernel reads no more of those that are tested here.

    :param argument: Its place, from 0.
    :param kind: ``in`` (one of the values), ``none`` (no bit of the value), ``any`` (some bit of it), ``least``.
    :param values: What the argument is compared with.
    """

    argument: int
    kind: str
    values: tuple[int, ...]


Rule = tuple[tuple[Test, ...], ...]
"""Alternatives, one of which must hold; in each, all tests must. Without any alternative the call is always allowed."""

ALWAYS: Rule = ()

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""What ``seccomp_data.arch`` has (``AUDIT_ARCH_…``); machines by the name that ``uname`` gives."""

X32 = 0x40000000
"""Numbers from here on are the x32 calls of an x86-64 kernel, a second way to everything."""

_NUMBERS = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "fstat": (5, 80),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "ioctl": (16, 29),
    "pread64": (17, 67),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "nanosleep": (35, 101),
    "getpid": (39, 172),
    "socket": (41, 198),
    "clone": (56, 220),
    "execve": (59, 221),
    "exit": (60, 93),
    "kill": (62, 129),
    "uname": (63, 160),
    "fcntl": (72, 25),
    "getcwd": (79, 17),
    "gettimeofday": (96, 169),
    "getrusage": (98, 165),
    "ptrace": (101, 117),
    "getuid": (102, 174),
    "getgid": (104, 176),
    "geteuid": (107, 175),
    "getegid": (108, 177),
    "sigaltstack": (131, 132),
    "gettid": (186, 178),
    "futex": (202, 98),
    "sched_getaffinity": (204, 123),
    "getdents64": (217, 61),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "exit_group": (231, 94),
    "tgkill": (234, 131),
    "openat": (257, 56),
    "newfstatat": (262, 79),
    "readlinkat": (267, 78),
    "faccessat": (269, 48),
    "unshare": (272, 97),
    "prlimit64": (302, 261),
    "seccomp": (317, 277),
    "getrandom": (318, 278),
    "statx": (332, 291),
    "clone3": (435, 435),
    "faccessat2": (439, 439),
    "landlock_create_ruleset": (444, 444),
    "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
}

_PROT_WRITE, _PROT_EXEC = 2, 4
_MAP_ANONYMOUS = 0x20
_RLIMIT_CPU = 0
_MADV = (4, 8, 14, 15)
"""MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE: what allocators use."""

_WRITING = 0o3 | 0o100 | 0o1000 | 0o2000 | 0o20000000
"""O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND and the bit of O_TMPFILE, the same on both machines."""

_HARMLESS_FCNTL = (1, 3, 1030)
"""F_GETFD, F_GETFL, F_DUPFD_CLOEXEC: none with which a signal is sent (F_SETOWN, F_SETSIG) or a lock taken."""

FIRST_FREE = 8
"""Descriptors below are the worker's own, which a program may not close."""

# In about the order of use, which is that in which the filter looks.
_BASE = (
    "read write pread64 munmap brk mremap futex clock_gettime getpid gettid getrandom getrusage rt_sigprocmask "
    "rt_sigreturn sigaltstack sched_yield restart_syscall gettimeofday clock_getres nanosleep clock_nanosleep exit "
    "exit_group"
).split()
_READING = (
    "fstat lseek uname getcwd getuid getgid geteuid getegid sched_getaffinity getdents64 newfstatat readlinkat "
    "faccessat faccessat2 statx"
).split()


def numbers(machine: str) -> dict[str, int]:
    """Returns the numbers of all calls named here, for a machine of :data:`ARCHITECTURES`."""
    column = list(ARCHITECTURES).index(machine)
    return {name: pair[column] for name, pair in _NUMBERS.items()}


def allowed(pid: int, *, libraries: bool) -> dict[str, Rule]:
    """The calls that a worker keeps.

    Without libraries there is no call that takes a path or makes a descriptor, so there is no file system. With them,
    files can be opened for reading and library code can be mapped; which files, Landlock says.

    :param pid: The worker's process id: it may signal itself, as ``abort`` does, and nobody else.
    :param libraries: Whether files can be read at all.
    """
    no_code = Test(2, "none", (_PROT_EXEC,))
    anonymous = Test(3, "any", (_MAP_ANONYMOUS,))
    rules: dict[str, Rule] = dict.fromkeys(_BASE, ALWAYS)
    rules |= {
        "mmap": ((no_code, anonymous),),
        "mprotect": ((no_code,),),
        "madvise": ((Test(2, "in", _MADV),),),
        "tgkill": ((Test(0, "in", (pid,)),),),
        "prlimit64": ((Test(0, "in", (0,)), Test(1, "in", (_RLIMIT_CPU,))),),
    }
    if libraries:
        rules |= dict.fromkeys(_READING, ALWAYS)
        code_of_a_file = (Test(2, "none", (_PROT_WRITE,)), Test(3, "none", (_MAP_ANONYMOUS,)))
        rules |= {
            "mmap": ((no_code,), code_of_a_file),
            "openat": ((Test(2, "none", (_WRITING,)),),),
            "close": ((Test(0, "least", (FIRST_FREE,)),),),
            "fcntl": ((Test(1, "in", _HARMLESS_FCNTL),),),
        }
    return rules
