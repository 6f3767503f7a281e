"""Let other processes read this one again."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    return native("prctl", 4, 1, 0, 0, 0)
