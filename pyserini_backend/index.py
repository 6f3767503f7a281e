"""The Lucene engine: real Lucene with its own BM25, one-byte document lengths and all."""

import os
import shutil
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.errors import BackendError
from autoindex_haystack.files import ScratchFolder
from autoindex_haystack.retrieval.index import ChunkTable, Index
from autoindex_haystack.retrieval.ranking import Hits
from autoindex_haystack.retrieval.settings import BM25Settings
from autoindex_haystack.retrieval.storage import FORMAT_VERSION, IndexHeader, index_folder, read_index, read_parts
from autoindex_haystack.retrieval.updatable import UpdatableIndex
from pyserini_backend.analysis import lucene_analyzer, lucene_tokens
from pyserini_backend.fields import ORDINAL
from pyserini_backend.jvm import enter, versions
from pyserini_backend.numbering import number_chunks
from pyserini_backend.reader import LuceneReader
from pyserini_backend.searcher import LuceneSearcher
from pyserini_backend.writer import LuceneWriter, in_batches

_LUCENE = "lucene"
"""The folder of Lucene's own files in an index folder."""

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
    joins_parts: ClassVar[bool] = True

    def __init__(
        self,
        searcher: LuceneSearcher,
        settings: BM25Settings,
        documents: NDArray[np.int64],
        document_ids: Sequence[str],
        *,
        finished: bool = False,
        temporary: ScratchFolder | None = None,
    ) -> None:
        """Use :meth:`build`, :meth:`load` or :meth:`open_foreign`.

        :param searcher: Searches Lucene's files.
        :param settings: BM25 parameters and analyzer.
        :param documents: int64, shape (chunks,): the document of each chunk.
        :param document_ids: The ids of all documents.
        :param finished: Whether nobody changes the files any more.
        :param temporary: A folder to remove on closing.
        """
        self._searcher, self._finished = searcher, finished
        self.settings = settings
        self.documents = documents
        self.document_ids = document_ids
        self._prepare = lucene_analyzer(settings.analyzer).prepare
        self._close = weakref.finalize(self, _release, searcher, temporary, os.getpid())

    @classmethod
    def build(cls, chunks: ChunkTable, settings: BM25Settings, folder: Path | None = None) -> "LuceneIndex":
        enter()
        if folder is not None:
            header = _header(settings, len(chunks))
            with index_folder(folder, header, chunks.documents, chunks.document_ids) as unfinished:
                _write(chunks, settings, unfinished / _LUCENE)
            return cls._open(folder, settings, chunks.documents, chunks.document_ids)
        temporary = ScratchFolder()
        try:
            _write(chunks, settings, temporary.path / _LUCENE)
            return cls._open(temporary.path, settings, chunks.documents, chunks.document_ids, temporary)
        except BaseException:
            temporary.close()
            raise

    @classmethod
    def build_part(cls, chunks: ChunkTable, settings: BM25Settings, folder: Path, first: int) -> None:
        enter()
        header = _header(settings, len(chunks), first)
        with index_folder(folder, header, chunks.documents, chunks.document_ids) as unfinished:
            _write(chunks, settings, unfinished / _LUCENE, first)

    @classmethod
    def merge(cls, parts: Sequence[Path], folder: Path) -> None:
        enter()
        settings, documents, ids = read_parts(parts, cls.backend)
        with (
            index_folder(folder, _header(settings, len(documents)), documents, ids) as unfinished,
            LuceneWriter(unfinished / _LUCENE, settings) as writer,
        ):
            writer.add_folders([part / _LUCENE for part in parts])

    @classmethod
    def load_parts(cls, parts: Sequence[Path]) -> "LuceneIndex":
        settings, documents, ids = read_parts(parts, cls.backend)
        reader = LuceneReader.of_parts([part / _LUCENE for part in parts])
        return cls(LuceneSearcher(reader, settings, _ordinals(reader, documents, parts[0])), settings, documents, ids)

    @classmethod
    def load(cls, folder: Path) -> "LuceneIndex":
        header, documents, ids = read_index(folder, cls.backend)
        return cls._open(folder, header.settings, documents, ids, first=header.first)

    @classmethod
    def open_foreign(cls, folder: Path, settings: BM25Settings) -> "LuceneIndex":
        """Open an index that Pyserini, Anserini or anything else wrote with Anserini's fields ``id`` and ``contents``.

        :param folder: The folder of Lucene's files.
        :param settings: BM25 parameters, and the analyzer that the index was made with: ``lucene-english`` for what
            Pyserini does by default, ``bm25s`` for texts of its tokens that were indexed with ``-pretokenized``.
        :returns: The index; each of Lucene's documents is a chunk and a document by itself. :meth:`save` writes it as
            an index of ours.
        :raises BackendError: If there is no such index.
        """
        reader = LuceneReader(folder)
        if reader.size and not reader.has_contents():
            msg = f"the Lucene index in {folder} has no text in the field `contents`, as Anserini writes it"
            raise BackendError(msg)
        numbering = number_chunks(reader)
        searcher = LuceneSearcher(reader, settings, numbering.ordinals)
        return cls(searcher, settings, numbering.documents, numbering.document_ids)

    @classmethod
    def updatable(cls, folder: Path | None, settings: BM25Settings) -> UpdatableIndex:
        """Open an index to change it in place, as :mod:`autoindex_haystack.retrieval.updatable` describes it."""
        from pyserini_backend.updatable import UpdatableLuceneIndex

        return UpdatableLuceneIndex(folder, settings)

    @classmethod
    def _open(
        cls,
        folder: Path,
        settings: BM25Settings,
        documents: NDArray[np.int64],
        document_ids: Sequence[str],
        temporary: ScratchFolder | None = None,
        first: int = 0,
    ) -> "LuceneIndex":
        reader = LuceneReader(folder / _LUCENE)
        searcher = LuceneSearcher(reader, settings, _ordinals(reader, documents, folder) - first)
        return cls(searcher, settings, documents, document_ids, finished=True, temporary=temporary)

    def save(self, folder: Path) -> None:
        self._refuse_closed()
        reader = self._searcher.reader
        with index_folder(folder, _header(self.settings, len(self)), self.documents, self.document_ids) as unfinished:
            if self._finished:
                ignored = shutil.ignore_patterns("write.lock")
                shutil.copytree(reader.folder, unfinished / _LUCENE, ignore=ignored)
            else:
                # Its files may go at any moment, but not from under the reader.
                with LuceneWriter(unfinished / _LUCENE, self.settings) as writer:
                    writer.add_all(reader)

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


def _ordinals(reader: LuceneReader, documents: NDArray[np.int64], folder: Path) -> NDArray[np.int64]:
    """Which chunk each of Lucene's documents is; closes the reader if there are not as many as stated."""
    ordinals = reader.numbers(ORDINAL)
    if ordinals is None:
        ordinals = number_chunks(reader).ordinals
    if len(ordinals) != len(documents):
        reader.close()
        msg = f"the index in {folder} is damaged: {len(documents)} chunks are stated, Lucene has another number"
        raise BackendError(msg)
    return ordinals


def _header(settings: BM25Settings, chunks: int, first: int = 0) -> IndexHeader:
    return IndexHeader(
        format_version=FORMAT_VERSION,
        backend=LuceneIndex.backend,
        settings=settings,
        chunks=chunks,
        first=first,
        versions={**versions(), "autoindex-haystack": version("autoindex-haystack")},
    )


def _write(chunks: ChunkTable, settings: BM25Settings, folder: Path, first: int = 0) -> None:
    prepare = lucene_analyzer(settings.analyzer).prepare
    ids = chunks.chunk_ids()
    with LuceneWriter(folder, settings) as writer:

        def stage(start: int, end: int) -> Callable[[], None]:
            return writer.adding(ids[start:end], list(map(prepare, chunks.texts[start:end])), first + start)

        in_batches(chunks.texts, stage)


def _first_depth(depth: int, allowed: NDArray[np.bool_]) -> int:
    """Guess how deep to look for ``depth`` allowed chunks, if matches are allowed as often as chunks are."""
    share = np.count_nonzero(allowed) / max(1, len(allowed))
    return len(allowed) if share * len(allowed) <= depth else int(depth / share * 1.25) + 1


def _only(hits: Hits, allowed: NDArray[np.bool_]) -> Hits:
    keep = allowed[hits.ordinals]
    return Hits(hits.ordinals[keep], hits.scores[keep], hits.exhausted)


def _release(searcher: LuceneSearcher, temporary: ScratchFolder | None, process: int) -> None:
    if os.getpid() != process:  # A forked child must not take the files from its parent.
        return
    with suppress(BackendError):
        searcher.close()
    if temporary is not None:
        temporary.close()
