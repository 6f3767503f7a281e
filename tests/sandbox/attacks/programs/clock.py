"""Depend on the time."""

EXPECT = "unstable"
REAL = False


def attack(t):
    return reach("sys").modules["time"].time_ns()
