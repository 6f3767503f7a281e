"""Trace another process."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("ptrace", 16, t["victim"], None, None)
