"""The seccomp filter: an allow-list, compiled to the kernel's packet filter language and installed for good.

Whatever is not on the list answers EPERM, so that Python raises an error that a program's author understands.
``clone3`` answers ENOSYS, since its arguments lie in memory where no filter can see them. Calls of another architecture
end the process at once.
"""

import errno
import struct

from .syscalls import ARCHITECTURES, X32, Rule, Test, allowed, numbers

_LOAD, _EQUAL, _AT_LEAST, _BITS, _JUMP, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x05, 0x06
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets in ``struct seccomp_data``."""

_INSTRUCTION = struct.Struct("<HBBI")

Code = list[tuple[int, int, int, int]]
"""Instructions: operation, how many to skip if true, how many if false, constant."""


def build_filter(machine: str, pid: int, *, libraries: bool) -> bytes:
    """Compile the filter.

    :param machine: One of :data:`~.syscalls.ARCHITECTURES`.
    :param pid: The worker's process id.
    :param libraries: Whether files can be read.
    :returns: The program, as the kernel takes it.
    """
    number = numbers(machine)
    code: Code = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        code += [(_AT_LEAST, 0, 1, X32), (_RETURN, 0, 0, _KILL)]
    for name, rule in allowed(pid, libraries=libraries).items():
        body = _compile(rule)
        code += [(_EQUAL, 0, len(body), number[name]), *body]
    code += [(_EQUAL, 0, 1, number["clone3"]), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    code.append((_RETURN, 0, 0, _ERROR | errno.EPERM))
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in code)


def _compile(rule: Rule) -> Code:
    """What is done about a call whose number has matched; it always ends in a return."""
    if not rule:
        return [(_RETURN, 0, 0, _ALLOW)]
    code: Code = []
    for alternative in rule:
        parts = [_compile_test(test) for test in alternative]
        # Behind every test there is a jump to the next alternative, which a test that holds skips.
        left = sum(len(part) + 1 for part in parts) + 1
        for part in parts:
            left -= len(part) + 1
            code += [*part, (_JUMP, 0, 0, left)]
        code.append((_RETURN, 0, 0, _ALLOW))
    return [*code, (_RETURN, 0, 0, _ERROR | errno.EPERM)]


def _compile_test(test: Test) -> Code:
    """Load the argument; skip the one instruction that follows when the test holds."""
    load = (_LOAD, 0, 0, _ARGUMENTS + 8 * test.argument)
    if test.kind == "in":
        last = len(test.values) - 1
        return [load, *((_EQUAL, last - i + 1, 0, value) for i, value in enumerate(test.values))]
    operation, holds = {"none": (_BITS, False), "any": (_BITS, True), "least": (_AT_LEAST, True)}[test.kind]
    return [load, (operation, int(holds), int(not holds), test.values[0])]
