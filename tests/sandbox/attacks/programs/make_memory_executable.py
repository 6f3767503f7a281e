"""Make memory executable afterwards."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    page = libc.mmap(None, ctypes.c_size_t(4096), 3, 0x22, -1, ctypes.c_long(0))
    return native("mprotect", ctypes.c_void_p(page), ctypes.c_size_t(4096), 5)
