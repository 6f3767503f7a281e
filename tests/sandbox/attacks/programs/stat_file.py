"""Ask for the size of a file."""

EXPECT = "refused"


def attack(t):
    return reach("stat")(t["secret"]).st_size
