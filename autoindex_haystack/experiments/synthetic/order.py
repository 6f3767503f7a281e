"""The order in which documents are asked about."""

import hashlib
from collections.abc import Sequence

from autoindex_haystack.collection import Document


def seeded_order(documents: Sequence[Document], seed: int) -> list[int]:
    """Returns the places of documents in an order that only the seed and their ids decide.

    :param documents: The documents.
    :param seed: Another seed gives another order.
    """
    keys = [hashlib.blake2b(f"{seed}\n{document.doc_id}".encode(), digest_size=8).digest() for document in documents]
    return sorted(range(len(documents)), key=keys.__getitem__)
