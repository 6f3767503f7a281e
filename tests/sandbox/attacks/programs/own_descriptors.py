"""Open the document file anew through /proc, to write to it."""

EXPECT = "refused"
REAL = False


def attack(t):
    return reach("open")("/proc/self/fd/3", 2)
