"""What host and worker agree on: descriptors, frames, the layout of the document file, opaque ids."""

import struct

try:
    from _blake2 import blake2b
except ImportError:
    # The public way, which also loads OpenSSL: a tenth of a worker's start.
    from hashlib import blake2b

COMMANDS, RESULTS, LOG, DOCUMENTS, PROGRESS = range(5)
"""The worker's descriptors: commands come as JSON lines, frames leave, what the program prints leaves, documents are
read, and the shared page tells at which document the program is."""

LIFELINE = 6
"""The end of a pipe that the host holds open as long as the worker shall live."""

FRAME = struct.Struct("<cQ")
"""Head of a frame: its kind and the length of what follows."""

ISOLATED, READY, BLOCK, STATE, FAILED = b"I", b"R", b"B", b"S", b"E"
KINDS = (ISOLATED, READY, BLOCK, STATE, FAILED)

BLOCK_HEAD = struct.Struct("<QQ")
"""Head of a block: number of documents and of chunks. Then uint32 chunks of each document, uint32 length of each text,
uint32 length of each metadata (0: the document's own), then all texts and all metadata in UTF-8."""

PAGE = 4096
"""Size of the shared page; its first 8 bytes are the document's ordinal plus 1, or 0 for none."""

KEY_BYTES = 16


def opaque_id(key: bytes, ordinal: int) -> str:
    """The id that a program sees for a document: a keyed hash, so that it tells nothing."""
    return blake2b(ordinal.to_bytes(8, "little"), digest_size=KEY_BYTES, key=key).hexdigest()
