"""Fill the disk through what is printed."""

EXPECT = "stopped"
REAL = False
LIMITS = {"document_seconds": 0.5}


def attack(t):
    while True:
        reach("write")(2, b"x" * 65_536)
