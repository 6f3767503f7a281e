"""Landlock: which files a process may still reach, where the kernel has it (5.13 and newer)."""

import os
import stat
import struct

from .kernel import Kernel, Refused

_CREATE_VERSION = 1
_RULE_PATH_BENEATH = 1
_EXECUTE, _READ_FILE, _READ_DIR = 1, 1 << 2, 1 << 3
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many rights over files each version knows; later ones know no more of them."""

_NETWORK = (1 << 2) - 1
"""TCP bind and connect, from version 4 on."""

_SCOPES = (1 << 2) - 1
"""Abstract Unix sockets and signals to the outside, from version 6 on."""


def restrict_files(kernel: Kernel, readable: list[str]) -> int:
    """Give up every right over files but reading those under some folders, and the network with it.

    :param kernel: The kernel.
    :param readable: Folders and files; those that do not exist are left out.
    :returns: The version of Landlock, 0 when there is none.
    :raises Refused: If the kernel has Landlock and refuses it all the same.
    """
    version, _ = kernel.call("landlock_create_ruleset", None, 0, _CREATE_VERSION)
    if version < 1:
        return 0
    rights = (1 << _FILE_RIGHTS[min(version, max(_FILE_RIGHTS))]) - 1
    attributes = struct.pack("=Q", rights)
    if version >= 4:
        attributes += struct.pack("=Q", _NETWORK)
    if version >= 6:
        attributes += struct.pack("=Q", _SCOPES)
    rules, code = kernel.call("landlock_create_ruleset", attributes, len(attributes), 0)
    if rules < 0:
        raise Refused(f"Landlock refuses its rules ({os.strerror(code)})")
    try:
        for path in readable:
            _admit(kernel, rules, path)
        result, code = kernel.call("landlock_restrict_self", rules, 0)
        if result != 0:
            raise Refused(f"Landlock cannot be put in force ({os.strerror(code)})")
    finally:
        os.close(rules)
    return version


def _admit(kernel: Kernel, rules: int, path: str) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        rule = struct.pack("=Qi", _READ_FILE | (_READ_DIR if folder else 0), descriptor)
        result, code = kernel.call("landlock_add_rule", rules, _RULE_PATH_BENEATH, rule, 0)
        if result != 0:
            raise Refused(f"Landlock refuses to admit {path} ({os.strerror(code)})")
    finally:
        os.close(descriptor)
