"""Never end, and ignore every exception."""

EXPECT = "stopped"
REAL = False
LIMITS = {"document_seconds": 0.5}


def attack(t):
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue
