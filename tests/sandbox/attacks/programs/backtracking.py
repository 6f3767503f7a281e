"""Never end, in a regular expression."""

EXPECT = "stopped"
REAL = False
LIMITS = {"document_seconds": 0.5}


def attack(t):
    return re.match(r"(a+)+b", "a" * 64)
