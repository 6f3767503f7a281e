"""List the processes."""

EXPECT = "refused"


def attack(t):
    return len(reach("listdir")("/proc"))
