"""Make a file without a name."""

EXPECT = "refused"


def attack(t):
    return reach("open")(t["folder"], 0o20200002, 0o600)
