"""Read a file by the class behind open."""

EXPECT = "refused"


def attack(t):
    return reach("sys").modules["_io"].FileIO(t["secret"]).read()
