"""Make shared memory, which outlives the process."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    return native("shmget", 0, 4096, 0)
