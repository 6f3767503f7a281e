"""Connect to an abstract Unix socket."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    import socket

    return done(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).connect("\0" + t["abstract"]))
