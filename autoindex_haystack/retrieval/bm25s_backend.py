"""The bm25s engine: the ``lucene`` scoring of the bm25s package with exact chunk lengths, in memory.

bm25s has no safe behaviour at the edges (``k`` beyond the corpus, empty corpora, padding with score 0), so only its
index and its score function are used; selecting and ordering hits is done by
:mod:`autoindex_haystack.retrieval.ranking`.
"""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.errors import BackendError
from autoindex_haystack.retrieval.analyzers import tokenize, tokenize_corpus
from autoindex_haystack.retrieval.index import ChunkTable, Index
from autoindex_haystack.retrieval.lucene_model import Departures, Postings, engine_of
from autoindex_haystack.retrieval.ranking import Hits
from autoindex_haystack.retrieval.settings import BM25Settings
from autoindex_haystack.retrieval.storage import FORMAT_VERSION, IndexHeader, index_folder, read_index

_ENGINE = "bm25s"
"""The folder of the engine's own files; it is empty but for a mark when no chunk has a token."""

_NO_TOKENS = "no-tokens"


Norms = Literal["exact", "lucene"]


class Bm25sIndex(Index):
    """A bm25s index.

    ```python
    from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex, ChunkTable

    index = Bm25sIndex.build(ChunkTable.of_texts(["a heated wing", "a cold engine"]), BM25Settings())
    [ranking] = index.search_documents(["heated wings and wing tips"], top_k=100)
    assert ranking.ordinals.tolist() == [0]
    ```
    """

    backend: ClassVar[str] = "bm25s"

    def __init__(
        self,
        engine: Any,
        settings: BM25Settings,
        documents: NDArray[np.int64],
        document_ids: Sequence[str],
        norms: str = "exact",
    ) -> None:
        """Use :meth:`build` or :meth:`load`; ``engine`` is None when no chunk has a token."""
        self.norms = norms
        self._engine = engine
        self._closed = False
        self.settings = settings
        self.documents = documents
        self.document_ids = document_ids

    @classmethod
    def build(
        cls, chunks: ChunkTable, settings: BM25Settings, folder: Path | None = None, *, norms: Norms = "exact"
    ) -> "Bm25sIndex":
        """Build an index; see :meth:`autoindex_haystack.retrieval.index.Index.build`.

        :param norms: ``exact`` counts every token of a chunk; ``lucene`` scores as Lucene does, with lengths of one
            byte and chunks without tokens left out of the averages, to the last digits of a float.
        """
        tokens, vocabulary = tokenize_corpus(chunks.texts, settings.analyzer)
        engine = None
        if vocabulary and norms == "lucene":
            engine = engine_of(Postings.of_tokens(tokens, vocabulary), settings, Departures())
        elif vocabulary:
            import bm25s

            engine = bm25s.BM25(method="lucene", k1=settings.k1, b=settings.b, backend="numpy")
            engine.index((tokens, vocabulary), create_empty_token=False, show_progress=False)
        index = cls(engine, settings, chunks.documents, chunks.document_ids, norms)
        if folder is not None:
            index.save(folder)
        return index

    @classmethod
    def load(cls, folder: Path) -> "Bm25sIndex":
        header, documents, ids = read_index(folder, cls.backend)
        engine = None
        if not (folder / _ENGINE / _NO_TOKENS).exists():
            import bm25s

            try:
                engine = bm25s.BM25.load(folder / _ENGINE, load_corpus=False)
                engine.backend = "numpy"
                chunks = engine.scores["num_docs"]
            except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError) as error:
                msg = f"the bm25s index in {folder} is damaged; build it anew ({error})"
                raise BackendError(msg) from error
            if chunks != header.chunks:
                msg = f"the bm25s index in {folder} is damaged: it has {chunks} chunks where {header.chunks} are stated"
                raise BackendError(msg)
        return cls(engine, header.settings, documents, ids, header.norms)

    def save(self, folder: Path) -> None:
        header = IndexHeader(
            format_version=FORMAT_VERSION,
            backend=self.backend,
            settings=self.settings,
            chunks=len(self),
            versions=self.versions(),
            norms=self.norms,
        )
        with index_folder(folder, header, self.documents, self.document_ids) as temporary:
            if self._engine is not None:
                self._engine.save(temporary / _ENGINE, show_progress=False)
            else:
                (temporary / _ENGINE).mkdir()
                (temporary / _ENGINE / _NO_TOKENS).touch()

    def candidates(self, query: str, depth: int, allowed: NDArray[np.bool_] | None = None) -> Hits:
        if self._closed:
            msg = "the index is closed; load it again"
            raise BackendError(msg)
        if self._engine is None:
            return Hits.none()
        numbers = self._engine.get_tokens_ids(tokenize(query, self.settings.analyzer))
        if not numbers:
            return Hits.none()
        scores: NDArray[np.float32] = self._engine.get_scores_from_ids(numbers).astype(np.float32, copy=False)
        return Hits.best(scores, depth, allowed)

    @classmethod
    def versions(cls) -> dict[str, str]:
        return {"bm25s": version("bm25s"), "autoindex-haystack": version("autoindex-haystack")}

    def close(self) -> None:
        self._engine = None
        self._closed = True
