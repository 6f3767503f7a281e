"""Connect to a Unix socket in a folder."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    import socket

    return done(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).connect(t["unix"]))
