"""Numbering the chunks of an index whose files do not number them: one that is changed in place, or of other tools."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.errors import BackendError
from pyserini_backend.fields import DIGEST, DOCUMENT, ID, POSITION, from_field
from pyserini_backend.reader import LuceneReader


@dataclass(frozen=True)
class Numbering:
    """The chunks of one commit, in the order of document id (by code point), position and chunk id.

    :param ordinals: int64, shape (Lucene's documents,): the chunk that each is; -1 for deleted ones.
    :param chunk_ids: The id of each chunk.
    :param positions: int64, shape (chunks,): the place of each chunk within its document.
    :param digests: int64, shape (chunks,): the hash of each chunk's text; zeros where it is not known.
    :param documents: int64, shape (chunks,): the document of each chunk.
    :param document_ids: The ids of the documents.
    """

    ordinals: NDArray[np.int64]
    chunk_ids: list[str]
    positions: NDArray[np.int64]
    digests: NDArray[np.int64]
    documents: NDArray[np.int64]
    document_ids: list[str]


def number_chunks(reader: LuceneReader) -> Numbering:
    """Number the chunks of a commit.

    :param reader: The commit. Where it does not say which document a chunk belongs to, each is one by itself.
    :returns: The numbering.
    :raises BackendError: If its documents have no ids.
    """
    ids, owners = reader.strings(ID), reader.strings(DOCUMENT)
    if ids is None:
        msg = f"the Lucene index in {reader.folder} has no field `{ID}` with doc values, as Anserini writes it"
        raise BackendError(msg)
    live = np.flatnonzero(reader.live())
    ids = [ids[i] for i in live.tolist()]
    if owners is None:
        owners = ids
    else:
        ids, owners = list(map(from_field, ids)), [from_field(owners[i]) for i in live.tolist()]
    positions, digests = (_numbers(reader, field)[live] for field in (POSITION, DIGEST))
    keys = list(zip(owners, positions.tolist(), ids, strict=True))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    document_ids = list(dict.fromkeys(keys[i][0] for i in order))
    number = {name: i for i, name in enumerate(document_ids)}
    ordinals = np.full(reader.size, -1, np.int64)
    ordinals[live[order]] = np.arange(len(order))
    return Numbering(
        ordinals,
        [ids[i] for i in order],
        positions[order],
        digests[order],
        np.array([number[keys[i][0]] for i in order], np.int64),
        document_ids,
    )


def _numbers(reader: LuceneReader, field: str) -> NDArray[np.int64]:
    numbers = reader.numbers(field)
    return np.zeros(reader.size, np.int64) if numbers is None else numbers
