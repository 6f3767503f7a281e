"""Return half a surrogate pair."""

EXPECT = "stopped"
REAL = False


def attack(t):
    return Raw("\ud800")
