"""Preprocessors over programs that are frozen on the spot."""

import pytest

from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor


@pytest.fixture
def make(freeze):
    """Make a preprocessor over a program frozen on the spot; all are closed in the end."""
    made = []

    def make_one(*source: str, settings: dict[str, object] | None = None, **parameters) -> RepresentationPreprocessor:
        frozen = freeze(*source, name=f"frozen{len(made)}", **(settings or {}))
        made.append(RepresentationPreprocessor(str(frozen.path), sha256=frozen.manifest.sha256, **parameters))
        return made[-1]

    yield make_one
    for preprocessor in made:
        preprocessor.close()
