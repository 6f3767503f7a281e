"""Start a program."""

EXPECT = "refused"


def attack(t):
    return reach("posix_spawn")("/bin/true", ["true"], {})
