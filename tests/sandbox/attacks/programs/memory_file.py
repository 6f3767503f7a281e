"""Make a file in memory."""

EXPECT = "refused"


def attack(t):
    return reach("memfd_create")("x")
