"""Find the host's keys in the environment."""

EXPECT = "nothing"
REAL = False


def attack(t):
    return [v for v in dict(reach("environ")).values() if "CANARY" in v]
