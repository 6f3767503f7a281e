"""End the process as if all were done."""

EXPECT = "stopped"
REAL = False


def attack(t):
    reach("_exit")(0)
