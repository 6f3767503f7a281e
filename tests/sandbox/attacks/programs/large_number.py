"""Never end, in arithmetic."""

EXPECT = "stopped"
REAL = False
LIMITS = {"document_seconds": 0.5}


def attack(t):
    return 9**9**9 % 7
