"""Start a thread."""

EXPECT = "refused"


def attack(t):
    try:
        return reach("sys").modules["_thread"].start_new_thread(print, ())
    except RuntimeError:
        raise PermissionError("no thread can be started") from None
