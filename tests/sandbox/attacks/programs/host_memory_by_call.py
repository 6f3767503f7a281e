"""Read another process's memory by process_vm_readv."""

EXPECT = "refused"
NATIVE = True


def attack(t):
    return native("process_vm_readv", t["victim"], None, 0, None, 0, 0)
