"""Make a system call of the x32 table, a second way to everything."""

EXPECT = "stopped"
NATIVE = True
REAL = False


def attack(t):
    return native("syscall", 0x40000000 + 41, 2, 1, 0)
