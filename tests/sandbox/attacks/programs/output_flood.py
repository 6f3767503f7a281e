"""Print without an end."""

EXPECT = "stopped"
REAL = False
LIMITS = {"document_seconds": 0.5}


def attack(t):
    while True:
        print("x" * 65_536)
