"""Return a text that is none."""

EXPECT = "stopped"
REAL = False


def attack(t):
    return Text("x")
