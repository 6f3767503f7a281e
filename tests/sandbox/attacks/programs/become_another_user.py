"""Become another user."""

EXPECT = "refused"


def attack(t):
    return done(reach("setuid")(reach("getuid")()))
