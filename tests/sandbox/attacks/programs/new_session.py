"""Leave the process group that the host kills."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("setpgid", 0, 0)
