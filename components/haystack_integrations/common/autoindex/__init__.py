"""What the components and document stores of AutoIndex share: how a chunk carries the document it came from."""

from autoindex_haystack.frozen.chunk_meta import (
    PROGRAM_SHA256,
    SOURCE_CONTENT,
    SOURCE_ID,
    SOURCE_META,
    SPLIT_COUNT,
    SPLIT_ID,
    chunk_id,
    copy_meta,
)
from haystack_integrations.common.autoindex.chunks import (
    BEST_CHUNK,
    is_document_list,
    make_chunks,
    make_document,
    restore_source,
    source_id_of,
    stale_chunk_ids,
)

__all__ = [
    "BEST_CHUNK",
    "PROGRAM_SHA256",
    "SOURCE_CONTENT",
    "SOURCE_ID",
    "SOURCE_META",
    "SPLIT_COUNT",
    "SPLIT_ID",
    "chunk_id",
    "copy_meta",
    "is_document_list",
    "make_chunks",
    "make_document",
    "restore_source",
    "source_id_of",
    "stale_chunk_ids",
]
