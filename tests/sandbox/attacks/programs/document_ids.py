"""Find the document's real id."""

EXPECT = "nothing"
REAL = False


def attack(t):
    return t["doc_id"] if "real-" in t["doc_id"] else ""
