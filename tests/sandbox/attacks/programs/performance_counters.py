"""Open performance counters."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("syscall", 298, None, 0, -1, -1, 0)
