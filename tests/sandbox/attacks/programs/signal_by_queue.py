"""Queue a signal for another process."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("sigqueue", t["victim"], 9, None)
