"""Duplicate a descriptor."""

EXPECT = "refused"


def attack(t):
    return reach("dup")(1)
