"""The whole indexing pipeline of a frozen component as one component."""

from typing import TYPE_CHECKING, Any, Literal

from haystack import Document, Pipeline, default_from_dict, default_to_dict, super_component
from haystack.document_stores.types import DocumentStore, DuplicatePolicy

from autoindex_haystack.sandbox import Isolation, Limits
from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor
from haystack_integrations.components.writers.autoindex.representation_writer import RepresentationWriter


@super_component
class RepresentationIndexer:
    """Indexes documents in any document store by a frozen representation program: preprocessor and writer in one.

    ### Usage example

    ```python
    from haystack import Document
    from haystack_integrations.components.retrievers.autoindex import RepresentationRetriever
    from haystack_integrations.components.writers.autoindex import RepresentationIndexer
    from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore

    store = Bm25sDocumentStore()
    indexer = RepresentationIndexer("my_run/frozen", store)
    indexer.run(documents=[Document(content="A heated wing sheds ice.")])
    indexer.close()
    print(RepresentationRetriever(store).run("ice on the wing")["documents"][0].content)
    ```
    """

    def __init__(
        self,
        path: str,
        document_store: DocumentStore,
        *,
        sha256: str | None = None,
        policy: DuplicatePolicy = DuplicatePolicy.OVERWRITE,
        workers: int = 1,
        title_key: str = "title",
        timeout: float = 60.0,
        on_error: Literal["raise", "skip", "full_document"] = "raise",
        isolation: Isolation = "full",
        program_memory: int = Limits.memory,
    ) -> None:
        """Create the component; nothing is read or started before it is warmed up or runs.

        :param path: The folder of the frozen component.
        :param document_store: Where to write. For the component's BM25 parameters and analyzer in the store, see the
            pipelines in its folder.
        :param sha256: The hash that the component must have. Give it wherever others could change the folder.
        :param policy: What to do with documents that are there already; OVERWRITE also deletes their stale chunks.
        :param workers: How many processes run the program side by side.
        :param title_key: The key of meta that holds a document's title.
        :param timeout: Seconds that the program may take for one document.
        :param on_error: What to do when the program fails at a document, see ``RepresentationPreprocessor``.
        :param isolation: ``full``, or ``process-only`` for programs that you trust.
        :param program_memory: Memory (address space) in bytes that each process may have.
        :raises ValueError: If a number is not above 0, or ``on_error`` or ``isolation`` is unknown.
        """
        self.document_store = document_store
        self.policy = policy
        self._how: dict[str, Any] = {
            "sha256": sha256,
            "workers": workers,
            "title_key": title_key,
            "timeout": timeout,
            "on_error": on_error,
            "isolation": isolation,
            "program_memory": program_memory,
        }
        self.path = str(path)
        self.pipeline = Pipeline()
        self.pipeline.add_component("preprocessor", RepresentationPreprocessor(self.path, **self._how))
        self.pipeline.add_component("writer", RepresentationWriter(document_store, policy))
        self.pipeline.connect("preprocessor.documents", "writer.documents")
        self.input_mapping = {"documents": ["preprocessor.documents"]}
        self.output_mapping = {"writer.documents_written": "documents_written", "preprocessor.failed": "failed"}

    def to_dict(self) -> dict[str, Any]:
        """Serialize the component with its store.

        :returns: A dictionary that :meth:`from_dict` reads.
        """
        return default_to_dict(
            self, path=self.path, document_store=self.document_store, policy=self.policy.name, **self._how
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "RepresentationIndexer":
        """Make a component from what :meth:`to_dict` gave.

        :param data: The dictionary.
        :returns: The component.
        """
        parameters = dict(data.get("init_parameters", {}))
        if "policy" in parameters:
            parameters["policy"] = DuplicatePolicy[parameters["policy"]]
        return default_from_dict(cls, {**data, "init_parameters": parameters})

    if TYPE_CHECKING:

        def run(self, *, documents: list[Document]) -> dict[str, Any]:
            """Index documents.

            :param documents: The documents.
            :returns: A dictionary with the keys ``documents_written``, how many chunks were written, and ``failed``,
                the ids of the documents at which the program failed.
            """

        def close(self) -> None:
            """End the workers and release the store."""
