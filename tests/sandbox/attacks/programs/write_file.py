"""Make a file in a folder that this user can write."""

EXPECT = "refused"


def attack(t):
    return reach("open")(t["folder"] + "/made", 0o101, 0o600)
