"""Read the kernel's log."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("klogctl", 10, None, 0)
