"""Ask whether a file is there, the answer being no all the same."""

EXPECT = "nothing"


def attack(t):
    try:
        return reach("stat")("/etc") and "there"
    except FileNotFoundError:
        return "not there"
    except PermissionError:
        return ""
