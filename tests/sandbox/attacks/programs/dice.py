"""Depend on chance."""

EXPECT = "unstable"
REAL = False


def attack(t):
    return int.from_bytes(reach("urandom")(8), "little")
