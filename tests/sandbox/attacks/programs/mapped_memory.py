"""Use all memory by mapping."""

EXPECT = "stopped"
NATIVE = True
REAL = False
LIMITS = {"memory": 629145600}


def attack(t):
    import mmap

    kept = []
    try:
        while True:
            kept.append(mmap.mmap(-1, 1 << 28))
    except OSError:
        raise MemoryError from None
