"""Map memory that can be written and executed."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    import mmap

    return bool(mmap.mmap(-1, 4096, prot=7))
