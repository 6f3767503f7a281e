"""Change who may read a file."""

EXPECT = "refused"


def attack(t):
    return done(reach("chmod")(t["secret"], 0o777))
