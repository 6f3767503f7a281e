"""Close the descriptor by which the worker ends with the host."""

EXPECT = "refused"


def attack(t):
    return done(reach("close")(6))
