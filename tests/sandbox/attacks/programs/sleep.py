"""Never end, asleep."""

EXPECT = "stopped"
REAL = False
LIMITS = {"document_seconds": 0.5}


def attack(t):
    reach("sys").modules["time"].sleep(60)
