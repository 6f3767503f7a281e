"""Never end."""

EXPECT = "stopped"
REAL = False
LIMITS = {"document_seconds": 0.5}


def attack(t):
    while True:
        pass
