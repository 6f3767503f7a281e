"""Write into the documents that other programs read."""

EXPECT = "refused"
REAL = False


def attack(t):
    return reach("pwrite")(3, b"changed", 100)
