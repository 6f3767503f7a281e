"""Return a pickle that would make a file when it were loaded."""

EXPECT = "anything"
REAL = False


def attack(t):
    return f"cbuiltins\nopen\n(S'{t['folder']}/made'\nS'w'\ntR."
