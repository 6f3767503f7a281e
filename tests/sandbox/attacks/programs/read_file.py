"""Read a file that this user can read."""

EXPECT = "refused"


def attack(t):
    return reach("open")(t["secret"], 0)
