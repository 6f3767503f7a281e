"""Abort."""

EXPECT = "stopped"
REAL = False


def attack(t):
    reach("abort")()
