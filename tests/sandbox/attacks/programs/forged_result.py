"""Write a result in the harness's place."""

EXPECT = "rejected"
REAL = False


def attack(t):
    reach("write")(5, b"B" + (5).to_bytes(8, "little") + b"wrong")
