"""Move a file."""

EXPECT = "refused"


def attack(t):
    return done(reach("rename")(t["secret"], t["folder"] + "/made"))
