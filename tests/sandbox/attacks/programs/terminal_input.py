"""Type into the terminal (TIOCSTI)."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("ioctl", 0, 0x5412, b"x")
