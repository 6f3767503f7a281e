"""The Lucene engine: real Lucene with its own BM25, one-byte document lengths and all."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.errors import BackendError
from autoindex_haystack.retrieval.index import ChunkTable, Index
from autoindex_haystack.retrieval.ranking import Hits
from autoindex_haystack.retrieval.settings import BM25Settings
from autoindex_haystack.retrieval.storage import FORMAT_VERSION, IndexHeader, index_folder, read_index
from pyserini_backend.analysis import lucene_analyzer, lucene_tokens
from pyserini_backend.jvm import enter, versions
from pyserini_backend.searcher import LuceneSearcher
from pyserini_backend.writer import LuceneWriter

_LUCENE = "lucene"
"""The folder of Lucene's own files in an index folder."""

_BATCH_CHUNKS = 2_000
_BATCH_CHARACTERS = 4_000_000
_DEEPER = 4


class LuceneIndex(Index):
    """A Lucene index.

    ```python
    from autoindex_haystack.retrieval import BM25Settings, ChunkTable, get_backend

    with get_backend("lucene").build(ChunkTable.of_texts(["a heated wing", "a cold engine"]), BM25Settings()) as index:
        [ranking] = index.search_documents(["heated wings and wing tips"], top_k=100)
    assert ranking.ordinals.tolist() == [0]
    ```
    """

    backend: ClassVar[str] = "lucene"

    def __init__(
        self,
        folder: Path,
        settings: BM25Settings,
        documents: NDArray[np.int64],
        document_ids: Sequence[str],
        temporary: Path | None = None,
    ) -> None:
        """Use :meth:`build` or :meth:`load`; ``temporary`` is a folder to remove on closing."""
        self._folder = folder
        self.settings = settings
        self.documents = documents
        self.document_ids = document_ids
        self._prepare = lucene_analyzer(settings.analyzer).prepare
        self._searcher = LuceneSearcher(folder / _LUCENE, settings)
        self._close = weakref.finalize(self, _release, self._searcher, temporary, os.getpid())
        if len(self._searcher.ordinals) != len(documents):
            self.close()
            msg = f"the index in {folder} is damaged: {len(documents)} chunks are stated, Lucene has another number"
            raise BackendError(msg)

    @classmethod
    def build(cls, chunks: ChunkTable, settings: BM25Settings, folder: Path | None = None) -> "LuceneIndex":
        enter()
        if folder is not None:
            with index_folder(
                folder, _header(settings, len(chunks)), chunks.documents, chunks.document_ids
            ) as unfinished:
                _write(chunks, settings, unfinished / _LUCENE)
            return cls(folder, settings, chunks.documents, chunks.document_ids)
        temporary = Path(tempfile.mkdtemp(prefix="autoindex-lucene-"))
        try:
            _write(chunks, settings, temporary / _LUCENE)
            return cls(temporary, settings, chunks.documents, chunks.document_ids, temporary)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise

    @classmethod
    def load(cls, folder: Path) -> "LuceneIndex":
        header, documents, ids = read_index(folder, cls.backend)
        return cls(folder, header.settings, documents, ids)

    def save(self, folder: Path) -> None:
        self._refuse_closed()
        with index_folder(folder, _header(self.settings, len(self)), self.documents, self.document_ids) as unfinished:
            shutil.copytree(self._folder / _LUCENE, unfinished / _LUCENE, ignore=shutil.ignore_patterns("write.lock"))

    def candidates(self, query: str, depth: int, allowed: NDArray[np.bool_] | None = None) -> Hits:
        return self.candidates_many([query], depth, allowed)[0]

    def candidates_many(
        self, queries: Sequence[str], depth: int, allowed: NDArray[np.bool_] | None = None
    ) -> list[Hits]:
        self._refuse_closed()
        texts = [self._prepare(query) for query in queries]
        asked = [i for i, text in enumerate(texts) if text]
        results = [Hits.none()] * len(queries)
        limit = depth if allowed is None else _first_depth(depth, allowed)
        while asked:
            found = self._searcher.search_many([texts[i] for i in asked], limit)
            for i, hits in zip(asked, found, strict=True):
                results[i] = hits if allowed is None else _only(hits, allowed)
            if allowed is None:
                break
            # All that is not allowed took places among the best; what remains is complete down to its lowest score.
            asked = [i for i in asked if not results[i].exhausted and len(results[i].ordinals) < depth]
            limit *= _DEEPER
        return results

    @classmethod
    def versions(cls) -> dict[str, str]:
        return versions()

    def tokens(self, text: str) -> list[str]:
        return lucene_tokens(self.settings.analyzer, text)

    def close(self) -> None:
        self._close()

    def _refuse_closed(self) -> None:
        if not self._close.alive:
            msg = "the index is closed; load it again"
            raise BackendError(msg)


def _header(settings: BM25Settings, chunks: int) -> IndexHeader:
    return IndexHeader(
        format_version=FORMAT_VERSION,
        backend=LuceneIndex.backend,
        settings=settings,
        chunks=chunks,
        versions={**versions(), "autoindex-haystack": version("autoindex-haystack")},
    )


def _write(chunks: ChunkTable, settings: BM25Settings, folder: Path) -> None:
    """Write Lucene's files; while Lucene indexes one batch without Python's lock, Python analyzes the next."""
    prepare = lucene_analyzer(settings.analyzer).prepare
    ids = chunks.chunk_ids()
    with LuceneWriter(folder, settings) as writer, ThreadPoolExecutor(1, "lucene-writer") as background:
        running: Future[None] | None = None
        for start, end in _batches(chunks.texts):
            texts = [prepare(text) for text in chunks.texts[start:end]]
            if running is not None:
                running.result()
            running = background.submit(writer.add, ids[start:end], texts, start)
        if running is not None:
            running.result()


def _batches(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Cut texts into ranges of a size that is worth a call and no strain on memory."""
    start = characters = 0
    for i, text in enumerate(texts):
        characters += len(text)
        if characters >= _BATCH_CHARACTERS or i + 1 - start >= _BATCH_CHUNKS:
            yield start, i + 1
            start, characters = i + 1, 0
    if start < len(texts):
        yield start, len(texts)


def _first_depth(depth: int, allowed: NDArray[np.bool_]) -> int:
    """Guess how deep to look for ``depth`` allowed chunks, if matches are allowed as often as chunks are."""
    share = np.count_nonzero(allowed) / max(1, len(allowed))
    return len(allowed) if share * len(allowed) <= depth else int(depth / share * 1.25) + 1


def _only(hits: Hits, allowed: NDArray[np.bool_]) -> Hits:
    keep = allowed[hits.ordinals]
    return Hits(hits.ordinals[keep], hits.scores[keep], hits.exhausted)


def _release(searcher: LuceneSearcher, temporary: Path | None, process: int) -> None:
    if os.getpid() != process:  # A forked child must not take the files from its parent.
        return
    with suppress(BackendError):
        searcher.close()
    if temporary is not None:
        shutil.rmtree(temporary, ignore_errors=True)
