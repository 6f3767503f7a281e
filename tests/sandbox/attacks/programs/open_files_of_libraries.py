"""Read a file outside the libraries where libraries may be read."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    import io

    return io.open(t["secret"]).read()
