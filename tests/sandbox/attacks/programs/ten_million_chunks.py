"""Return ten million empty chunks."""

EXPECT = "stopped"
REAL = False
LIMITS = {"memory": 419430400}


def attack(t):
    return Chunks(10_000_000)
