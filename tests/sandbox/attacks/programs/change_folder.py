"""Go to another folder."""

EXPECT = "refused"


def attack(t):
    return done(reach("chdir")(t["folder"]))
