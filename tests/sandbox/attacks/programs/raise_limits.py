"""Raise the limits of this process."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    import resource

    try:
        return done(resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40)))
    except ValueError:
        raise PermissionError("limits cannot be raised") from None
