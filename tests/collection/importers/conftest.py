"""What the tests of importers share: writing a source and reading it back as users do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from autoindex_haystack.collection import Collection, load_collection
from autoindex_haystack.collection.importers import Source, write_collection


@pytest.fixture
def imported(tmp_path: Path) -> Callable[..., Collection]:
    """Import a source and read the collection, with the metadata fields that are named."""

    def write_and_read(source: Source, **wanted: object) -> Collection:
        write_collection(source, tmp_path / "imported")
        return load_collection(tmp_path / "imported", **wanted)  # type: ignore[arg-type]

    return write_and_read
