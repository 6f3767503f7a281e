"""Listen to the network card."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    import socket

    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
