"""Signal a group of processes, with a signal that does nothing."""

EXPECT = "refused"


def attack(t):
    return done(reach("killpg")(reach("getpid")(), 0))
