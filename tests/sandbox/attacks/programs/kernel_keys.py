"""Read the kernel's keyring."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("syscall", 250, 0, -3, 0)
