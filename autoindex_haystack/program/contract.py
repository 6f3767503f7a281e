"""The contract of a representation program.

A program is a file that defines ``class Preprocessor(BasePreprocessor)``. It never runs in this process: the sandbox's
worker has its own copy of this small class. This one is for editors, type checkers and tests of transforms.
"""

from collections.abc import Iterable
from typing import Any

from autoindex_haystack.collection.types import Chunk, Document


class BasePreprocessor:
    """Base class of every representation program.

    ```python
    from autoindex_haystack.program import BasePreprocessor, Chunk

    class Preprocessor(BasePreprocessor):
        def preprocess(self, docs):
            return [Chunk(f"{doc.doc_id}_0", doc.doc_id, doc.text.replace("_", " ")) for doc in docs]
    ```
    """

    name: str = ""
    description: str = ""

    def __init__(self) -> None:
        """Programs need no constructor of their own; ``state`` is set before the first call of :meth:`preprocess`."""
        self.state: dict[str, Any] = {}

    def calibrate(self, docs: Iterable[Document]) -> dict[str, Any]:
        """Learn corpus statistics; optional.

        :param docs: A seeded sample of the corpus in a fixed order. Queries and judgments are never given.
        :returns: What :attr:`state` will be: JSON of at most 16 MB.
        """
        return {}

    def preprocess(self, docs: list[Document]) -> list[Chunk]:
        """Turn documents into chunks.

        :param docs: Documents; in production one at a call. The result must not depend on which come together.
        :returns: The chunks, each with the ``doc_id`` of its document. A document without any cannot be found.
        """
        raise NotImplementedError
