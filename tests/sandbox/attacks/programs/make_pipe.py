"""Make a pipe."""

EXPECT = "refused"


def attack(t):
    return reach("pipe")()
