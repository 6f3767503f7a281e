"""Cut off the page that the host reads, which would kill the host."""

EXPECT = "refused"
REAL = False


def attack(t):
    return done(reach("ftruncate")(4, 0))
