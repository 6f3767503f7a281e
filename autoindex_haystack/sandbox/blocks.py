"""Blocks: pieces of a corpus that workers are given, and what they made of them, checked anew since it is untrusted."""

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.retrieval import ChunkTable
from autoindex_haystack.retrieval.texts import Utf8Texts
from autoindex_haystack.sandbox.limits import Limits
from autoindex_haystack.sandbox.process import broken_protocol
from autoindex_haystack.sandbox.worker import protocol

_DOCUMENTS, _BYTES = 512, 1 << 20
"""What a block has at most, except for a document that is larger alone."""

Metadata = dict[str, Any] | None


@dataclass
class Block:
    """A piece of the work and, later, its result.

    :param ordinals: The documents.
    :param allowed: int64, shape (documents,): bytes that the texts of each document's chunks may have.
    :param counts: uint32, shape (documents,): chunks of each document.
    :param texts: The texts of all chunks, as they came.
    :param metadata: The chunks' own metadata, None where it is the document's.
    """

    ordinals: Sequence[int]
    allowed: NDArray[np.int64]
    counts: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    texts: Utf8Texts = field(default_factory=lambda: Utf8Texts.of(()))
    metadata: list[Metadata] = field(default_factory=list)

    def largest(self, limits: Limits) -> int:
        """Returns how many bytes the block's frame may have: texts, as much metadata, and all counts and lengths."""
        return 2 * int(self.allowed.sum()) + len(self.ordinals) * (4 + 8 * limits.chunks) + protocol.BLOCK_HEAD.size

    def fill(self, payload: bytes, limits: Limits) -> int:
        """Take over the chunks of a worker's frame.

        :param payload: The frame's payload, untrusted.
        :param limits: What a program may return.
        :returns: How many bytes of text it has.
        :raises SandboxError: If it is not what the protocol demands.
        """
        head = protocol.BLOCK_HEAD
        try:
            documents, chunks = head.unpack_from(payload)
            if documents != len(self.ordinals):
                raise broken_protocol()
            numbers = np.frombuffer(payload, np.uint32, documents + 2 * chunks, head.size)
            self.counts, lengths, meta = np.split(numbers, [documents, documents + chunks])
            begin = head.size + numbers.nbytes
            middle = begin + int(lengths.sum(dtype=np.int64))
            if middle + int(meta.sum(dtype=np.int64)) != len(payload) or not self._within(lengths, limits):
                raise broken_protocol()
            self.texts = Utf8Texts.of_sizes(payload, begin, lengths.astype(np.int64))
            self.metadata = list(map(_parse, _cut(payload, middle, meta))) if meta.any() else [None] * len(meta)
        except (struct.error, ValueError, RecursionError) as error:
            raise broken_protocol() from error
        return middle - begin

    @property
    def owners(self) -> NDArray[np.int64]:
        """int64, shape (chunks,): each chunk's document."""
        return np.repeat(np.array(self.ordinals, np.int64), self.counts)

    def texts_of(self, i: int) -> Utf8Texts:
        """Returns the texts of a document's chunks.

        :param i: Which document of the block, from 0 on.
        """
        end = int(self.counts[: i + 1].sum(dtype=np.int64))
        return self.texts[end - int(self.counts[i]) : end]

    def by_document(self) -> Iterator[list[tuple[str, Metadata]]]:
        """Returns the chunks of each document in turn: text and metadata."""
        rows = iter(zip(self.texts, self.metadata, strict=True))
        return (list(islice(rows, count)) for count in self.counts.tolist())

    def _within(self, lengths: NDArray[np.uint32], limits: Limits) -> bool:
        """Whether the counts fit the lengths and keep the limits."""
        ends = np.cumsum(self.counts, dtype=np.int64)
        if ends[-1] != len(lengths) or (self.counts > limits.chunks).any():
            return False
        totals = np.r_[0, np.cumsum(lengths, dtype=np.int64)]
        return bool((totals[ends] - totals[ends - self.counts] <= self.allowed).all())


def cut(ordinals: Sequence[int], sizes: NDArray[np.int64], limits: Limits) -> list[Block]:
    """Cut documents into blocks of similar size.

    :param ordinals: The documents.
    :param sizes: int64, shape (all documents,): bytes of each document.
    :param limits: What a program may return.
    :returns: The blocks, in the order given.
    """
    blocks, begin, size = [], 0, 0
    ordinals = ordinals if isinstance(ordinals, range) else list(ordinals)
    for i, ordinal in enumerate(ordinals):
        size += int(sizes[ordinal])
        if i + 1 - begin == _DOCUMENTS or size >= _BYTES or i + 1 == len(ordinals):
            part = ordinals[begin : i + 1]
            allowed = np.maximum(limits.floor, limits.document_growth * sizes[np.array(part)])
            blocks.append(Block(part, allowed))
            begin, size = i + 1, 0
    return blocks


def join_blocks(blocks: Sequence[Block], document_ids: Sequence[str]) -> tuple[ChunkTable, list[Metadata]]:
    """Join the results of blocks.

    :param blocks: All blocks of a run, in any order.
    :param document_ids: The ids of all documents.
    :returns: The chunks and their metadata, in the order of the document file.
    """
    blocks = sorted(blocks, key=lambda block: min(block.ordinals))
    texts = Utf8Texts.joined([block.texts for block in blocks])
    metadata = [own for block in blocks for own in block.metadata]
    owners = [block.owners for block in blocks]
    documents = np.concatenate(owners) if owners else np.empty(0, np.int64)
    if (np.diff(documents) < 0).any():
        order = np.argsort(documents, kind="stable")
        documents, texts, metadata = documents[order], texts.taken(order), [metadata[i] for i in order.tolist()]
    return ChunkTable(texts, documents, document_ids), metadata


def parse_json(data: str | bytes) -> Any:
    """Parse untrusted JSON; a ValueError for numbers that JSON has not and for text that is no Unicode."""
    value = json.loads(data, parse_constant=_refuse)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _refuse(constant: str) -> None:
    msg = f"{constant} is no JSON"
    raise ValueError(msg)


def _parse(text: str) -> Metadata:
    if not text:
        return None
    value = parse_json(text)
    if not isinstance(value, dict):
        msg = "chunk metadata is no object"
        raise ValueError(msg)
    return value


def _cut(payload: bytes, begin: int, lengths: NDArray[np.uint32]) -> list[str]:
    """Decode consecutive pieces of UTF-8."""
    ends = np.cumsum(lengths, dtype=np.int64)
    whole = payload[begin : begin + int(ends[-1])] if len(ends) else b""
    places = zip((ends - lengths).tolist(), ends.tolist(), strict=True)
    if whole.isascii():
        text = whole.decode("ascii")
        return [text[start:end] for start, end in places]
    return [whole[start:end].decode("utf-8") for start, end in places]
