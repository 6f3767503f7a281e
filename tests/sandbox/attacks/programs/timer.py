"""Set an alarm."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("alarm", 0) or native("setitimer", 0, None, None)
