"""Make a file by native code, where libraries may be read."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    return native("open", (t["folder"] + "/made").encode(), 0o101, 0o600)
