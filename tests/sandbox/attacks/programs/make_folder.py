"""Make a folder."""

EXPECT = "refused"


def attack(t):
    return done(reach("mkdir")(t["folder"] + "/made"))
