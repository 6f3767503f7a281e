"""Carry state from one document to the next."""

EXPECT = "unstable"
REAL = False


def attack(t):
    SEEN.append(1)
    return len(SEEN)
