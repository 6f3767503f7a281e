"""What a program may use and return."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of one program.

    :param seconds: Wall-clock time for the whole corpus, and again for ``calibrate``.
    :param document_seconds: Wall-clock time for one document.
    :param memory: Address space of each worker in bytes.
    :param chunks: Chunks that one document may have.
    :param document_growth: How many times a document's chunks together may exceed it in bytes, above ``floor``.
    :param floor: Bytes that the chunks of any document, and those of any corpus, may have.
    :param corpus_growth: How many times all chunks together may exceed the corpus in bytes, above ``floor``; None for
        documents that are no corpus, which the limit of each document holds alone.
    :param state_bytes: Size of what ``calibrate`` returns, as JSON.
    :param sample_documents: Documents that ``calibrate`` sees at most.
    :param sample_bytes: Bytes of text that ``calibrate`` sees at most.
    :param unreachable: Share of the documents that may be left without any token.
    """

    seconds: float = 900.0
    document_seconds: float = 60.0
    memory: int = 2 << 30
    chunks: int = 10_000
    document_growth: int = 50
    floor: int = 64 << 10
    corpus_growth: int | None = 20
    state_bytes: int = 16 << 20
    sample_documents: int = 200_000
    sample_bytes: int = 256 << 20
    unreachable: float = 0.01

    def corpus_bytes(self, size: int) -> int | None:
        """Returns how many bytes all chunks of a corpus of ``size`` bytes may have together; None for any number."""
        return None if self.corpus_growth is None else max(self.floor, self.corpus_growth * size)


@dataclass(frozen=True)
class Spent:
    """What runs of one program over parts of a corpus have used of its limits.

    :param seconds: Wall-clock time.
    :param size: Bytes of all chunks.
    """

    seconds: float = 0.0
    size: int = 0


NOTHING_SPENT = Spent()
