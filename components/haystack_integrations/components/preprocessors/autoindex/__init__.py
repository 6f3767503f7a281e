"""The component that runs a frozen representation program in an indexing pipeline."""

from haystack_integrations.components.preprocessors.autoindex.representation_preprocessor import (
    RepresentationPreprocessor,
)

__all__ = ["RepresentationPreprocessor"]
