"""A user's own indexing pipeline gives its documents before they are split, and takes the component in that place."""

import pytest
from haystack import Pipeline
from haystack.components.converters import CSVToDocument, TextFileToDocument
from haystack.components.embedders import OpenAIDocumentEmbedder
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import (
    DocumentCleaner,
    DocumentPreprocessor,
    DocumentSplitter,
    RecursiveDocumentSplitter,
)
from haystack.components.routers import FileTypeRouter
from haystack.components.writers import DocumentWriter
from haystack.utils import Secret

from autoindex_haystack.errors import CollectionError
from haystack_integrations.common.autoindex.indexing_pipeline import IndexingPipeline
from haystack_integrations.components.preprocessors.autoindex import RepresentationPreprocessor
from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore


def embedder():
    return OpenAIDocumentEmbedder(api_key=Secret.from_env_var("NO_SUCH_KEY", strict=False))


MIDDLES = {
    "nothing": [],
    "splitter": [("splitter", DocumentSplitter)],
    "two splitters": [("first", DocumentSplitter), ("second", RecursiveDocumentSplitter)],
    "embedder": [("embedder", embedder)],
    "splitter and embedder": [("representation", RecursiveDocumentSplitter), ("embedder", embedder)],
}


@pytest.fixture
def save(tmp_path):
    """Save a pipeline of converters, a cleaner, what is given, and a writer to a folder that must stay untouched."""

    def write(middle=()):
        pipeline = Pipeline()
        pipeline.add_component("router", FileTypeRouter(mime_types=["text/plain", "text/markdown"]))
        pipeline.add_component("text", TextFileToDocument())
        pipeline.add_component("markdown", TextFileToDocument())
        pipeline.add_component("joiner", DocumentJoiner())
        pipeline.add_component("cleaner", DocumentCleaner())
        pipeline.connect("router.text/plain", "text.sources")
        pipeline.connect("router.text/markdown", "markdown.sources")
        for sender, receiver in (("text", "joiner"), ("markdown", "joiner"), ("joiner", "cleaner")):
            pipeline.connect(sender, receiver)
        last = "cleaner"
        for name, make in middle:
            pipeline.add_component(name, make())
            pipeline.connect(f"{last}.documents", f"{name}.documents")
            last = name
        pipeline.add_component("writer", DocumentWriter(Bm25sDocumentStore(str(tmp_path / "writer"))))
        pipeline.connect(f"{last}.documents", "writer.documents")
        path = tmp_path / "mine.yaml"
        path.write_text(pipeline.dumps())
        return path

    return write


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "files"
    (folder / "sub").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / "wing.txt").write_text("A heated   wing.\n\n\nIt sheds ice.")
    (folder / "sub" / "tea.md").write_text("# Tea\n\nSteep *it*.")
    (folder / "sub" / "picture.png").write_bytes(b"\x89PNG")
    (folder / ".hidden" / "secret.txt").write_text("secret")
    return folder


@pytest.mark.parametrize("middle", MIDDLES.values(), ids=MIDDLES)
def test_documents_are_those_that_converters_and_cleaners_give_by_their_path(save, files, tmp_path, middle):
    found = dict(IndexingPipeline(save(middle)).documents(files))
    assert list(found) == ["sub/tea.md", "wing.txt"]
    assert found["wing.txt"].content == "A heated wing. It sheds ice."
    assert found["wing.txt"].meta["file_path"] == "wing.txt"
    assert not (tmp_path / "writer").exists()


@pytest.mark.parametrize("middle", MIDDLES.values(), ids=MIDDLES)
def test_the_component_stands_after_the_cleaner_in_the_place_of_splitters(save, freeze, middle):
    frozen = freeze()
    path = save(middle)
    wrapped = Pipeline.loads(IndexingPipeline(path).wrap(frozen))
    [name] = [n for n, c in wrapped.graph.nodes(data="instance") if isinstance(c, RepresentationPreprocessor)]
    edges = {(sender, receiver) for sender, receiver, _ in wrapped.graph.edges}
    after = "embedder" if any(name == "embedder" for name, _ in middle) else "writer"
    assert {("cleaner", name), (name, after)} <= edges
    assert ("cleaner", after) not in edges
    assert not any("Splitter" in type(c).__name__ for _, c in wrapped.graph.nodes(data="instance"))
    assert wrapped.get_component(name).sha256 == frozen.manifest.sha256
    kept, saved = wrapped.to_dict()["components"], Pipeline.loads(path.read_text()).to_dict()["components"]
    for part in ("router", "text", "markdown", "joiner", "cleaner", "writer"):
        assert kept[part] == saved[part]


def test_the_wrapped_pipeline_indexes_what_was_learned_on(save, freeze, files, tmp_path):
    path = save(MIDDLES["splitter"])
    wrapped = Pipeline.loads(IndexingPipeline(path).wrap(freeze()))
    wrapped.run({"router": {"sources": [files / "wing.txt", files / "sub" / "tea.md"]}})
    wrapped.close()
    texts = {chunk.content for chunk in Bm25sDocumentStore(str(tmp_path / "writer")).filter_documents()}
    assert texts == {"A heated wing", "It sheds ice", "# Tea Steep *it*"}


def test_a_component_that_was_learned_before_gives_way_to_the_new_one(save, freeze):
    old, new = freeze(name="old"), freeze("full_document", name="new")
    path = save()
    path.write_text(IndexingPipeline(path).wrap(old))
    wrapped = IndexingPipeline(path).wrap(new)
    assert str(old.path) + "\n" not in wrapped
    assert wrapped.count("RepresentationPreprocessor") == 1
    Pipeline.loads(wrapped)


def test_documents_of_a_file_that_gives_several_are_numbered(save, files):
    middle = [("prepare", lambda: DocumentPreprocessor(split_by="word", split_length=3))]
    names = [name for name, _ in IndexingPipeline(save(middle)).documents(files)]
    assert names == ["sub/tea.md#0", "sub/tea.md#1", "wing.txt#0", "wing.txt#1"]


def test_a_pipeline_that_fails_names_the_file(tmp_path, files):
    pipeline = Pipeline()
    # Row by row it needs to be told the column when it runs.
    pipeline.add_component("converter", CSVToDocument(conversion_mode="row"))
    pipeline.add_component("writer", DocumentWriter(Bm25sDocumentStore()))
    pipeline.connect("converter", "writer")
    path = tmp_path / "csv.yaml"
    path.write_text(pipeline.dumps())
    (files / "a.csv").write_text("text,n\nfirst,1\n")
    with pytest.raises(CollectionError, match=r"fails at .*a.csv; mend the file or the pipeline") as raised:
        list(IndexingPipeline(path).documents(files))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: "[", "is no Haystack pipeline"),
        (lambda text: "components: {}", "is no Haystack pipeline"),
        (lambda text: text.replace("DocumentWriter", "DocumentCleaner"), "has 0 writers of documents"),
        (lambda text: text.replace("sender: cleaner.documents", "sender: cleaner"), "is no Haystack pipeline"),
        (lambda text: text[: text.index("- receiver: writer.documents")], "nothing, or more than one component"),
    ],
)
def test_what_is_no_indexing_pipeline_is_refused(save, change, message):
    path = save()
    path.write_text(change(path.read_text()))
    with pytest.raises(CollectionError, match=message):
        IndexingPipeline(path)


def test_a_pipeline_that_takes_files_in_two_places_is_refused(save, files):
    path = save()
    text = path.read_text().replace("- receiver: text.sources\n  sender: router.text/plain\n", "")
    path.write_text(text)
    with pytest.raises(CollectionError, match=r"wants router.sources, text.sources; it must take files in one place"):
        list(IndexingPipeline(path).documents(files))
