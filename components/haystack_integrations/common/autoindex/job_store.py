"""Searching what ``autoindex index --engine`` made: an index, and the documents from its chunks in Parquet."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from haystack import Document

from autoindex_haystack.distributed.output import INDEX, SHARDS, Output
from autoindex_haystack.errors import BackendError
from autoindex_haystack.retrieval import get_backend
from haystack_integrations.common.autoindex.chunks import restore_source


class JobStore:
    """A finished job, to be searched like a document store.

    :param folder: The job's folder.
    :raises BackendError: If it has no index.
    """

    def __init__(self, folder: Path) -> None:
        self._output = Output(str(folder))
        job = self._output.job()
        parts = sorted((folder / SHARDS).glob("*-of-*"))
        if job is None or job.backend is None or not (parts or (folder / INDEX).is_dir()):
            msg = f"{folder} holds no index; run `autoindex index` with --backend, to its end, to search it here"
            raise BackendError(msg)
        self.backend, self.settings = job.backend, job.bm25
        records = [self._output.record(ordinal) for ordinal in range(job.blocks)]
        self._ends = np.cumsum([record.documents - record.failed for record in records])
        backend = get_backend(job.backend)
        self._index = backend.load_parts(parts) if parts else backend.load(folder / INDEX)

    def search_documents(self, query: str, *, top_k: int) -> list[Document]:
        """Find the documents whose best chunk matches a query best (MaxP).

        :param query: The query.
        :param top_k: How many documents at most.
        :returns: The original documents, best first, as Haystack's retriever returns them.
        """
        [ranking] = self._index.search_documents([query], top_k)
        hits = zip(ranking.ordinals.tolist(), ranking.chunks.tolist(), ranking.scores.tolist(), strict=True)
        return [self._document(*hit) for hit in hits]

    def close(self) -> None:
        """Release the index."""
        self._index.close()

    def _document(self, ordinal: int, chunk: int, score: float) -> Document:
        block = int(np.searchsorted(self._ends, ordinal, side="right"))
        rows: Sequence[dict[str, Any]] = self._output.document(block, self._index.document_ids[ordinal])
        first, best = (
            Document(id=row["chunk_id"], content=row["text"], meta=json.loads(row["meta"]))
            for row in (rows[0], rows[chunk - int(np.searchsorted(self._index.documents, ordinal))])
        )
        return restore_source(first, best, score)
