"""Signal a thread of another process."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("tgkill", t["victim"], t["victim"], 9)
