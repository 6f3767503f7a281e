"""Limit another process."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    import resource

    return done(resource.prlimit(t["victim"], resource.RLIMIT_CORE, (0, 0)))
