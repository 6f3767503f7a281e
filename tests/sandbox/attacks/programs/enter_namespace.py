"""Enter a namespace."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("setns", 3, 0)
