"""Open a raw socket."""

EXPECT = "refused"
NATIVE = True
REAL = False


def attack(t):
    import socket

    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
