"""Make a process by the call whose arguments no filter sees."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("syscall", 435, None, 0)
