"""Connect to a server on this machine."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    import socket

    return socket.create_connection(("127.0.0.1", t["tcp"]), timeout=2)
