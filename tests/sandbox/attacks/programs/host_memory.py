"""Read the host's memory from /proc."""

EXPECT = "refused"


def attack(t):
    return reach("open")(f"/proc/{t['host']}/mem", 0)
