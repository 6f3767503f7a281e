"""Signal all processes of this user, with a signal that does nothing."""

EXPECT = "refused"
REAL = False


def attack(t):
    return done(reach("kill")(-1, 0))
