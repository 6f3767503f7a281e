"""List a folder."""

EXPECT = "refused"


def attack(t):
    return reach("listdir")(t["folder"] + "/..")
