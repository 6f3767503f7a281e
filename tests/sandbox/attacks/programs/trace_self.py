"""Be traced."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("ptrace", 0, 0, None, None)
