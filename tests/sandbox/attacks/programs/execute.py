"""Become another program."""

EXPECT = "refused"
REAL = False


def attack(t):
    return reach("execv")("/nonexistent/program", ["program"])
