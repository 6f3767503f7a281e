"""Empty a file by its name."""

EXPECT = "refused"


def attack(t):
    return done(reach("truncate")(t["secret"], 0))
