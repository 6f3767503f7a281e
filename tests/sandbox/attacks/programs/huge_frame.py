"""Announce a result of petabytes."""

EXPECT = "rejected"
REAL = False


def attack(t):
    reach("write")(5, b"B" + (1 << 52).to_bytes(8, "little"))
