"""Write into a library."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    import io
    import socket

    return io.open(socket.__file__, "r+").close() or "opened"
