"""The one interface of all retrieval engines, and how an engine is found by name.

An engine only says which chunks have the best raw scores (:meth:`Index.candidates`); order, rounding, ties, MaxP and
how deep to look belong to :mod:`autoindex_haystack.retrieval.ranking`. Engines are found through the entry-point group
``autoindex_haystack.backends``, so that nothing here imports Lucene.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.errors import BackendError
from autoindex_haystack.retrieval import ranking
from autoindex_haystack.retrieval.analyzers import tokenize
from autoindex_haystack.retrieval.ranking import Hits, Ranking
from autoindex_haystack.retrieval.settings import BM25Settings
from autoindex_haystack.retrieval.texts import Utf8Texts

ENTRY_POINT_GROUP = "autoindex_haystack.backends"

FOR_EVALUATION = ("dense", "hybrid")
"""Engines that only answer queries, to see what a representation is worth beyond BM25."""

_NO_PARTS = "the {backend} engine cannot join parts of an index; use lucene"


@dataclass(frozen=True)
class ChunkTable:
    """The chunks of a corpus in bulk.

    :param texts: The index text of each chunk.
    :param documents: int64, shape (chunks,): the ordinal of each chunk's document in ``document_ids``, not decreasing.
    :param document_ids: The ids of all documents, also of those without a chunk.
    """

    texts: Sequence[str]
    documents: NDArray[np.int64]
    document_ids: Sequence[str]

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.documents):
            msg = f"{len(self.texts)} texts but {len(self.documents)} document ordinals"
            raise ValueError(msg)
        if len(self.documents) and (np.diff(self.documents) < 0).any():
            msg = "the chunks of a document must stand together, documents in the order of document_ids"
            raise ValueError(msg)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def nbytes(self) -> int:
        """Bytes of UTF-8 of all texts."""
        return Utf8Texts.of(self.texts).nbytes

    @classmethod
    def of_texts(cls, texts: Sequence[str], document_ids: Sequence[str] | None = None) -> "ChunkTable":
        """Make a table of one chunk a document.

        :param texts: One text a document.
        :param document_ids: The documents' ids; the positions as strings when not given.
        :returns: The table.
        """
        ids = [str(i) for i in range(len(texts))] if document_ids is None else document_ids
        return cls(texts, np.arange(len(texts), dtype=np.int64), ids)

    def chunk_ids(self) -> list[str]:
        """Returns the id of each chunk: ``<doc_id>#<ordinal within the document>``."""
        starts = np.searchsorted(self.documents, self.documents, side="left")
        within = np.arange(len(self.documents)) - starts
        return [f"{self.document_ids[d]}#{n}" for d, n in zip(self.documents.tolist(), within.tolist(), strict=True)]


class Retriever(ABC):
    """What ranks documents by their chunks, closed after use (also as a context manager)."""

    document_ids: Sequence[str]

    @classmethod
    @abstractmethod
    def build(cls, chunks: ChunkTable, settings: BM25Settings) -> "Retriever":
        """Make a retriever.

        :param chunks: The chunks.
        :param settings: BM25 parameters and analyzer.
        :returns: The retriever, ready to search.
        :raises BackendError: If the engine is missing or fails.
        """

    @classmethod
    def on(cls, package: str) -> type[Self]:
        """Choose the package that holds an engine's model.

        :param package: Its name.
        :returns: The engine with this model.
        :raises BackendError: If the engine has none.
        """
        msg = f"this engine has no model, so {package!r} means nothing to it; leave out the colon and what follows"
        raise BackendError(msg)

    @classmethod
    def check_installed(cls) -> None:
        """See that what the engine needs is there, before any work is done; BM25 engines tell when they are used.

        :raises BackendError: If something is missing.
        """
        return

    @abstractmethod
    def search_documents(
        self, queries: Sequence[str], top_k: int, allowed: NDArray[np.bool_] | None = None
    ) -> list[Ranking]:
        """Rank documents by MaxP: a document's score is that of its best chunk.

        :param queries: The queries' texts.
        :param top_k: How many documents at most; may exceed the corpus.
        :param allowed: bool, shape (chunks,): chunks that may count; all when not given.
        :returns: For each query the document ordinals, scores and best chunks, best first.
        """

    @abstractmethod
    def close(self) -> None:
        """Release files and memory; searching afterwards is an error. Closing twice is fine."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def document_order(self) -> NDArray[np.int64]:
        """int64, shape (documents,): the rank of each document's id by code point; the tie-breaker."""
        return ranking.code_point_order(self.document_ids)


class Index(Retriever):
    """A BM25 index over chunks.

    Subclasses fill ``settings``, ``documents`` and ``document_ids`` (see :class:`ChunkTable`) when they build or load.
    """

    backend: ClassVar[str]
    joins_parts: ClassVar[bool] = False
    """Whether parts that were built side by side can be joined."""
    settings: BM25Settings
    documents: NDArray[np.int64]

    @classmethod
    @abstractmethod
    def build(cls, chunks: ChunkTable, settings: BM25Settings, folder: Path | None = None) -> "Index":
        """Build an index.

        :param chunks: The chunks.
        :param settings: BM25 parameters and analyzer.
        :param folder: Where to build an index that stays on disk; in memory or in a temporary folder when not given.
        :returns: The index, ready to search.
        :raises BackendError: If the engine is missing or fails.
        """

    @classmethod
    def build_part(cls, chunks: ChunkTable, settings: BM25Settings, folder: Path, first: int) -> None:
        """Build a part of an index, which can be opened by itself and joined with others by :meth:`merge`.

        :param chunks: The chunks of the part.
        :param settings: BM25 parameters and analyzer.
        :param folder: The part's folder; it must not exist yet.
        :param first: How many chunks all parts before it have.
        :raises BackendError: If the engine is missing, fails or cannot join parts.
        """
        raise BackendError(_NO_PARTS.format(backend=cls.backend))

    @classmethod
    def merge(cls, parts: Sequence[Path], folder: Path) -> None:
        """Join the parts of an index.

        :param parts: The folders of all parts, in order.
        :param folder: The folder of the index; it must not exist yet. It then holds the same documents with the same
            scores as an index built in one.
        :raises BackendError: If a part is missing or of other settings, or the engine cannot join parts.
        """
        raise BackendError(_NO_PARTS.format(backend=cls.backend))

    @classmethod
    def load_parts(cls, parts: Sequence[Path]) -> "Index":
        """Open the parts of an index as one, without joining their files.

        :param parts: The folders of all parts, in order.
        :returns: The index, with the scores of one that was built in one.
        :raises BackendError: If a part is missing or of other settings, or the engine cannot join parts.
        """
        raise BackendError(_NO_PARTS.format(backend=cls.backend))

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> "Index":
        """Open an index that :meth:`save` wrote.

        :param folder: The index folder.
        :returns: The index, ready to search.
        :raises BackendError: If the folder holds no complete index of this engine.
        """

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the index, atomically: afterwards the folder holds it whole, or does not exist.

        :param folder: The index folder; it must not exist yet.
        :raises BackendError: If the folder exists or cannot be written.
        """

    @abstractmethod
    def candidates(self, query: str, depth: int, allowed: NDArray[np.bool_] | None = None) -> Hits:
        """Find at least the ``depth`` best chunks by raw score, in any order.

        :param query: The query's text.
        :param depth: How many chunks to return at least, when so many have a score above 0.
        :param allowed: bool, shape (chunks,): chunks that may be returned; all when not given.
        :returns: Hits with scores above 0. Unless ``exhausted``, no chunk left out scores above the lowest of them.
        """

    def candidates_many(
        self, queries: Sequence[str], depth: int, allowed: NDArray[np.bool_] | None = None
    ) -> list[Hits]:
        """:meth:`candidates` for several queries; engines that search in parallel override it."""
        return [self.candidates(query, depth, allowed) for query in queries]

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Returns the versions of what makes this engine's scores, by name."""
        return {}

    def tokens(self, text: str) -> list[str]:
        """Split a text as this engine does.

        :param text: The text of a chunk or a query.
        :returns: The tokens in order.
        """
        return tokenize(text, self.settings.analyzer)

    def __len__(self) -> int:
        return len(self.documents)

    def search(self, queries: Sequence[str], top_k: int, allowed: NDArray[np.bool_] | None = None) -> list[Ranking]:
        """Rank chunks.

        :param queries: The queries' texts.
        :param top_k: How many chunks at most; may exceed the corpus.
        :param allowed: bool, shape (chunks,): chunks that may be returned; all when not given.
        :returns: For each query the chunk ordinals and scores, best first; empty when nothing scores above 0.
        """
        return ranking.rank_chunks(self, queries, top_k, allowed)

    def search_documents(
        self, queries: Sequence[str], top_k: int, allowed: NDArray[np.bool_] | None = None
    ) -> list[Ranking]:
        return ranking.rank_documents(self, queries, top_k, allowed)


def backend_names() -> list[str]:
    """Returns the names of the installed BM25 engines."""
    return [name for name in retriever_names() if name not in FOR_EVALUATION]


def retriever_names() -> list[str]:
    """Returns the names of all installed engines."""
    return sorted({point.name for point in entry_points(group=ENTRY_POINT_GROUP)})


def get_backend(name: str) -> type[Index]:
    """Find a BM25 engine by its name.

    :param name: For example ``bm25s`` or ``lucene``.
    :returns: The engine's index class.
    :raises BackendError: If no such engine is installed or its package cannot be imported.
    """
    if name.partition(":")[0] in FOR_EVALUATION:
        msg = f"{name} can only be evaluated: programs are learned for BM25, and indexes are of BM25 engines"
        raise BackendError(msg)
    index: type[Index] = _load(name, backend_names())
    return index


def get_retriever(name: str) -> type[Retriever]:
    """Find any engine by its name, with its model.

    :param name: The name of a BM25 engine, or ``dense`` or ``hybrid``, after which ``:PACKAGE`` may name the package
        with the embedding model.
    :returns: The engine.
    :raises BackendError: If no such engine is installed or its package cannot be imported.
    """
    kind, colon, package = name.partition(":")
    engine: type[Retriever] = _load(kind, retriever_names())
    return engine.on(package) if colon else engine


def _load(name: str, known: Sequence[str]) -> Any:
    for point in entry_points(group=ENTRY_POINT_GROUP):
        if point.name == name:
            try:
                return point.load()
            except ImportError as error:
                msg = f"the {name} engine cannot be imported ({error}); run `autoindex doctor`"
                raise BackendError(msg) from error
    msg = f"no retrieval engine named {name!r}; installed: {', '.join(known) or 'none'}"
    raise BackendError(msg)
