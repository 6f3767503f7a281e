"""Handle page faults, a tool of kernel exploits."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("syscall", 323, 0)
