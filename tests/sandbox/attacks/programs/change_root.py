"""Change the root folder."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("chroot", b"/")
