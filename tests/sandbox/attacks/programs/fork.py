"""Make a second process."""

EXPECT = "refused"


def attack(t):
    pid = reach("fork")()
    if pid == 0:
        reach("_exit")(0)
    return pid
