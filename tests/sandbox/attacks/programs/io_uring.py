"""Do input and output past the filter."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("syscall", 425, 1, None)
