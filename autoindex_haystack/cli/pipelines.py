"""A user's own Haystack pipeline around ``autoindex optimize``: its documents to learn on, the component within it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoindex_haystack.cli import options

if TYPE_CHECKING:
    from haystack_integrations.common.autoindex.indexing_pipeline import IndexingPipeline

_PIPELINE = click.Path(dir_okay=False, path_type=Path)


def pipeline_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options ``corpus_from_pipeline``, ``files`` and ``wrap``."""
    decorators: list[options.Decorator[Any]] = [
        click.option(
            "--corpus-from-pipeline",
            type=_PIPELINE,
            metavar="YAML",
            help="Learn on the documents that your own Haystack indexing pipeline makes of --files: those that would "
            "be split, embedded or written. They are written to COLLECTION, which has the queries and judgments; these "
            "name documents by their file's path from the folder on.",
        ),
        click.option(
            "--files",
            type=click.Path(file_okay=False, path_type=Path),
            metavar="DIR",
            help="With --corpus-from-pipeline: the folder of the files.",
        ),
        click.option(
            "--wrap",
            type=_PIPELINE,
            metavar="YAML",
            help="Write your Haystack indexing pipeline into RUN, under its own name, with the frozen component in it: "
            "after converters and cleaners, in the place of what splits.",
        ),
    ]
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


def read_pipeline(path: Path) -> "IndexingPipeline":
    """Read a user's pipeline.

    :param path: Its file.
    :returns: The pipeline.
    :raises CollectionError: If it is no indexing pipeline.
    """
    from haystack_integrations.common.autoindex.indexing_pipeline import IndexingPipeline

    return IndexingPipeline(path)


def learn_on_pipeline(collection: Path, pipeline: Path | None, files: Path | None) -> None:
    """Write the corpus of a collection from a user's pipeline, if one is given.

    :param collection: The collection's folder.
    :param pipeline: The pipeline.
    :param files: The folder of the files.
    :raises UsageError: If one is given without the other.
    :raises CollectionError: If the pipeline fails, or the collection has another corpus.
    """
    if (pipeline is None) != (files is None):
        msg = "--corpus-from-pipeline and --files need each other"
        raise click.UsageError(msg, click.get_current_context())
    if pipeline is None or files is None:
        return
    from autoindex_haystack.cli.output import progress
    from autoindex_haystack.collection.importers import write_corpus
    from autoindex_haystack.collection.types import Document

    source = read_pipeline(pipeline)
    with progress() as show:
        show("reading files")
        documents = (
            # What JSON does not know, such as dates, is written as its text.
            Document(name, document.content or "", json.loads(json.dumps(document.meta, default=str)))
            for name, document in source.documents(files)
        )
        write_corpus(documents, collection / "corpus.jsonl", show.documents)


def write_wrapped(pipeline: Path, run: Path) -> Path:
    """Write a user's pipeline with the run's frozen component in it.

    :param pipeline: The pipeline's file.
    :param run: The run folder.
    :returns: The file in the run folder.
    """
    from autoindex_haystack.files import atomic_file
    from autoindex_haystack.frozen import load_frozen

    text = read_pipeline(pipeline).wrap(load_frozen(run / "frozen"))
    out = run / pipeline.name
    with atomic_file(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return out
