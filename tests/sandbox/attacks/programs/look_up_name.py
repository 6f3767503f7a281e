"""Ask the resolver, which leaks by names."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    import socket

    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    return socket.getaddrinfo("localhost", 80)
