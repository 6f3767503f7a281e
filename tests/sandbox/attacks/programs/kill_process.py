"""Kill another process of this user."""

EXPECT = "refused"
REAL = False


def attack(t):
    return done(reach("kill")(t["victim"], 9))
