"""Leave by SystemExit."""

EXPECT = "stopped"
REAL = False


def attack(t):
    sys.exit(0)
