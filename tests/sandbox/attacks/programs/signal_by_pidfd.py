"""Open another process for signals."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    return native("syscall", 434, t["victim"], 0)
