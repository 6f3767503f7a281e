"""Read where a link leads."""

EXPECT = "refused"


def attack(t):
    return reach("readlink")("/proc/self/exe")
