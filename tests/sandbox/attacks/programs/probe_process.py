"""Ask whether a process lives."""

EXPECT = "refused"


def attack(t):
    return done(reach("kill")(t["victim"], 0))
