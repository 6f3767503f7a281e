"""Read the process's environment from /proc."""

EXPECT = "refused"


def attack(t):
    return reach("open")("/proc/self/environ", 0)
