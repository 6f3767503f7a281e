"""Leave the namespaces."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    return native("unshare", 0)
