"""Overflow the stack."""

EXPECT = "stopped"
REAL = False


def attack(t):
    reach("sys").setrecursionlimit(1 << 30)

    def deeper(n):
        return re.sub("x", lambda m: deeper(n + 1), "x")

    return deeper(0)
