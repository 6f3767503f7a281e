"""Take -1 for the parent's id, and signal it with a signal that does nothing."""

EXPECT = "refused"


def attack(t):
    return done(reach("kill")(reach("getppid")(), 0))
