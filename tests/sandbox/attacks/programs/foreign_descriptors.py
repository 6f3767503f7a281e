"""Read from descriptors that the host may have left open."""

EXPECT = "nothing"
REAL = False


def attack(t):
    found = []
    for descriptor in range(8, 256):
        try:
            found.append(reach("read")(descriptor, 10))
        except OSError:
            continue
    return found
