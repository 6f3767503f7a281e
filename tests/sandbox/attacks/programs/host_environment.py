"""Read the host's environment from /proc."""

EXPECT = "refused"


def attack(t):
    return reach("open")(f"/proc/{t['host']}/environ", 0)
