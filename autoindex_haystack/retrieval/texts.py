"""Many texts in one buffer of UTF-8: what is only counted, hashed or passed on is never made into Python strings."""

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

_CONTINUATION = 0xC0, 0x80
"""Mask and value of a byte that goes on with a character, so that no text can begin with it."""


class Utf8Texts(Sequence[str]):
    """A sequence of texts, each of which is decoded when it is asked for.

    :param data: uint8, shape (bytes,): UTF-8 that holds the texts.
    :param bounds: int64, shape (texts + 1,): where each text begins in ``data``; the last one is where the last ends.

    ```python
    from autoindex_haystack.retrieval.texts import Utf8Texts

    texts = Utf8Texts.of(["one", "zwölf"])
    assert (texts[1], texts.sizes.tolist()) == ("zwölf", [3, 6])
    ```
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: NDArray[np.uint8], bounds: NDArray[np.int64]) -> None:
        self.data = data
        self.bounds = bounds

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Utf8Texts":
        """Encode texts.

        :param texts: The texts; returned as they are if they are in UTF-8 already.
        """
        if isinstance(texts, Utf8Texts):
            return texts
        encoded = [text.encode("utf-8") for text in texts]
        sizes = np.fromiter(map(len, encoded), np.int64, len(encoded))
        return cls.of_sizes(b"".join(encoded), 0, sizes)

    @classmethod
    def of_sizes(cls, data: bytes, begin: int, sizes: NDArray[np.int64]) -> "Utf8Texts":
        """Take texts that stand one after the other.

        :param data: Bytes that hold them; not copied.
        :param begin: Where the first begins.
        :param sizes: int64, shape (texts,): bytes of each.
        :raises UnicodeDecodeError: If a text is no UTF-8.
        """
        bounds = np.empty(len(sizes) + 1, np.int64)
        bounds[0] = begin
        np.cumsum(sizes, out=bounds[1:])
        bounds[1:] += begin
        texts = cls(np.frombuffer(data, np.uint8), bounds)
        texts._check()
        return texts

    @classmethod
    def joined(cls, parts: Sequence["Utf8Texts"]) -> "Utf8Texts":
        """Put several sequences one after the other into a buffer of their own.

        :param parts: The sequences.
        """
        data = [part.data[part.bounds[0] : part.bounds[-1]] for part in parts]
        sizes = [part.sizes for part in parts]
        bounds = np.zeros(sum(map(len, parts)) + 1, np.int64)
        if parts:
            np.cumsum(np.concatenate(sizes), out=bounds[1:])
        return cls(np.concatenate(data) if data else np.empty(0, np.uint8), bounds)

    def taken(self, order: NDArray[np.int64]) -> "Utf8Texts":
        """Returns the texts in another order, in a buffer of their own.

        :param order: int64, shape (texts,): which text comes where.
        """
        begins, ends = self.bounds[order], self.bounds[order + 1]
        bounds = np.zeros(len(order) + 1, np.int64)
        np.cumsum(ends - begins, out=bounds[1:])
        data = np.empty(bounds[-1], np.uint8)
        places = zip(begins.tolist(), ends.tolist(), bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        for begin, end, to, until in places:
            data[to:until] = self.data[begin:end]
        return Utf8Texts(data, bounds)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """int64, shape (texts,): bytes of each text."""
        return np.diff(self.bounds)

    @property
    def nbytes(self) -> int:
        """Bytes of all texts."""
        return int(self.bounds[-1] - self.bounds[0])

    def encoded(self, i: int) -> bytes:
        """Returns a text's bytes.

        :param i: Which text, from 0 on.
        """
        return self.data[self.bounds[i] : self.bounds[i + 1]].tobytes()

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> "Utf8Texts": ...
    def __getitem__(self, i: int | slice) -> "str | Utf8Texts":
        if isinstance(i, slice):
            start, stop, step = i.indices(len(self))
            if step != 1:
                return self.taken(np.arange(start, stop, step))
            return Utf8Texts(self.data, self.bounds[start : max(start, stop) + 1])
        at = range(len(self))[i]
        return self.encoded(at).decode("utf-8")

    def __iter__(self) -> Iterator[str]:
        return (self.encoded(i).decode("utf-8") for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} texts, {self.nbytes:,} bytes)"

    def _check(self) -> None:
        """All together are UTF-8, and none begins within a character; so each is."""
        begins = self.bounds[:-1][self.bounds[:-1] < self.bounds[1:]]
        mask, value = _CONTINUATION
        if ((self.data[begins] & mask) == value).any():
            msg = "a text begins within a character"
            raise UnicodeDecodeError("utf-8", b"", 0, 0, msg)
        str(self.data.data[self.bounds[0] : self.bounds[-1]], "utf-8")
