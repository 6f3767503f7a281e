"""Make a pair of sockets."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    import socket

    return socket.socketpair()
