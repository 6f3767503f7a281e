"""Rows of published tables, JSON lines or Parquet, one after the other."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from autoindex_haystack.collection.importers.source import need
from autoindex_haystack.collection.readers import read_records
from autoindex_haystack.errors import CollectionError

_ROWS = 1_000
"""Rows of a Parquet file that are held at a time."""


def read_table(path: Path) -> Iterator[Mapping[str, Any]]:
    """Read a table row by row.

    :param path: A Parquet file, or JSON lines, plain or compressed.
    :returns: The rows.
    :raises CollectionError: If the file is broken, or what reads Parquet is missing.
    """
    if path.suffix != ".parquet":
        yield from (record for _, record in read_records(path))
        return
    arrow, parquet = (need(name, "pyarrow", f"reading {path.name}") for name in ("pyarrow", "pyarrow.parquet"))
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS):
                yield from batch.to_pylist()
    except (arrow.ArrowException, OSError) as error:
        msg = f"{path} cannot be read as Parquet ({error}); check the file"
        raise CollectionError(msg) from error
