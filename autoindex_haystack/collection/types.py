"""Documents and chunks: what representation programs receive and return.

Standard library only: the sandbox's worker defines the same two classes without importing this package, and
``autoindex_haystack.program`` re-exports these.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Document:
    """A raw document.

    :param doc_id: The document's id. Programs see an opaque stand-in for it.
    :param text: The raw text.
    :param metadata: The title (key ``title``, when there is one) and the fields that the user named.
    """

    doc_id: str
    text: str
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class Chunk:
    """A piece of index text that belongs to one document.

    :param chunk_id: An id that is unique within what a program returns.
    :param doc_id: The id of the document that the chunk stands for.
    :param text: What BM25 sees.
    :param metadata: Further fields for the chunk; optional.
    """

    chunk_id: str
    doc_id: str
    text: str
    metadata: dict[str, Any] = field(default_factory=dict)
