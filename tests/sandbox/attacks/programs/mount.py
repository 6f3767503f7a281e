"""Mount a file system."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("mount", None, None, None, 0, None)
