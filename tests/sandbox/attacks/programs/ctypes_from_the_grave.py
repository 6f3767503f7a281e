"""Make native calls by classes of ctypes that are still in memory."""

EXPECT = "refused"
REAL = False


def attack(t):
    found = [c for c in subclasses() if c.__name__ == "CDLL"]
    if not found:
        raise PermissionError("none is left")
    libc = found[0](None, use_errno=True)
    if libc.socket(2, 1, 0) < 0 and libc.open(t["secret"].encode(), 0) < 0 and libc.fork() < 0:
        raise PermissionError("all are refused")
    return "got through"
