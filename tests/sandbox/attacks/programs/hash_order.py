"""Depend on the hash seed."""

EXPECT = "unstable"
REAL = False


def attack(t):
    return hash("x")
