"""Install another filter."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("prctl", 22, 2, None, 0, 0)
