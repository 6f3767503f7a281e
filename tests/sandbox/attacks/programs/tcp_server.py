"""Wait for connections."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    import socket

    return socket.create_server(("127.0.0.1", 0))
