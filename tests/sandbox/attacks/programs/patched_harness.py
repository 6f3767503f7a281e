"""Replace the functions by which results are checked and sent."""

EXPECT = "rejected"
REAL = False


def attack(t):
    modules = reach("sys").modules
    serve = [m for name, m in modules.items() if name.endswith("worker.serve")][0]
    serve.encode_texts = lambda *_: [b"\xff\xfe"]
    serve.by_document = lambda documents, ordinals, chunks: [(ordinal, []) for ordinal in ordinals]
    return "patched"
