"""Send a packet."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    import socket

    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", t["udp"]))
