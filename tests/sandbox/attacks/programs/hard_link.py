"""Give a file a second name."""

EXPECT = "refused"


def attack(t):
    return done(reach("link")(t["secret"], t["folder"] + "/made"))
