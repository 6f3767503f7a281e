"""Make a message queue, which outlives the process."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("msgget", 0, 0)
