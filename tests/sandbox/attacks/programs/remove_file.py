"""Remove a file."""

EXPECT = "refused"


def attack(t):
    return done(reach("unlink")(t["secret"]))
