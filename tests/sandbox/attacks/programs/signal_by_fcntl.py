"""Have the kernel signal another process when a descriptor becomes ready (F_SETOWN)."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    return native("fcntl", 0, 8, t["victim"])
