"""Documents that a program makes unreachable: they had a token, and none of their chunks has one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.collection import Document
from autoindex_haystack.errors import ProgramError
from autoindex_haystack.retrieval import ChunkTable
from autoindex_haystack.retrieval.analyzers import has_token


def documents_with_token(documents: Sequence[Document], analyzer: str) -> NDArray[np.bool_]:
    """Returns bool, shape (documents,): whether a document's text or title has a token.

    :param documents: The documents.
    :param analyzer: Name of the analyzer.
    """
    return np.fromiter(
        (
            has_token(document.text, analyzer) or has_token(str(document.metadata.get("title") or ""), analyzer)
            for document in documents
        ),
        np.bool_,
        len(documents),
    )


def chunks_with_token(chunks: ChunkTable, analyzer: str) -> NDArray[np.bool_]:
    """Returns bool, shape (documents,): whether any chunk of a document has a token.

    :param chunks: The chunks of a corpus.
    :param analyzer: Name of the analyzer.
    """
    found = np.zeros(len(chunks.document_ids), np.bool_)
    for document, text in zip(chunks.documents.tolist(), chunks.texts, strict=True):
        if not found[document] and has_token(text, analyzer):
            found[document] = True
    return found


def check_reachable(
    reachable: NDArray[np.bool_], found: NDArray[np.bool_], document_ids: Sequence[str], allowed: float
) -> tuple[str, ...]:
    """Find the documents that a program has made unreachable and refuse too many of them.

    :param reachable: What :func:`documents_with_token` says of the documents.
    :param found: What :func:`chunks_with_token` says of the chunks that the program made of them.
    :param document_ids: The ids of all documents.
    :param allowed: Share of all documents that may be unreachable.
    :returns: Ids of the unreachable documents.
    :raises ProgramError: If there are too many; the message names the first.
    """
    ids = tuple(document_ids[i] for i in np.flatnonzero(reachable & ~found).tolist())
    if len(ids) > allowed * len(reachable):
        msg = (
            f"the program leaves {len(ids)} of {len(reachable)} documents without any token, the first is "
            f"{ids[0]}; index at least their titles, or allow it with --max-unreachable"
        )
        raise ProgramError(msg, document_id=ids[0])
    return ids
