"""Return a thousand times the text."""

EXPECT = "stopped"
REAL = False


def attack(t):
    return Raw("x" * 100_000_000)
