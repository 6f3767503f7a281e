"""Lower another process's priority."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    return native("setpriority", 0, t["victim"], 19)
