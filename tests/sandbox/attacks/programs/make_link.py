"""Make a symbolic link."""

EXPECT = "refused"


def attack(t):
    return done(reach("symlink")(t["secret"], t["folder"] + "/made"))
