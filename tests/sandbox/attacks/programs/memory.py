"""Use all memory."""

EXPECT = "stopped"
REAL = False
LIMITS = {"memory": 314572800}


def attack(t):
    kept = []
    while True:
        kept.append(bytearray(1 << 24))
