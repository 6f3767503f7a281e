"""Load a program into the kernel."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("syscall", 321, 0, None, 0)
