"""Read a file by native code, where libraries may be read."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    return native("open", t["secret"].encode(), 0)
