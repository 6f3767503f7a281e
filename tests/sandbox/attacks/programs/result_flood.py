"""Write results without an end."""

EXPECT = "rejected"
REAL = False


def attack(t):
    while True:
        reach("write")(5, b"x" * 65_536)
