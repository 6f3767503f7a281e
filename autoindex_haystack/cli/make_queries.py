"""``autoindex make-queries``: queries for a corpus that has none."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.model import MODEL_NAMES, given, model_options
from autoindex_haystack.cli.output import Progress, print_json, print_notes, progress
from autoindex_haystack.cli.places import check_outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoindex_haystack.collection import Document
    from autoindex_haystack.experiments.synthetic.asked import Asked
    from autoindex_haystack.llm.connect import ModelOptions


@options.command(
    "make-queries",
    "autoindex make-queries corpus.jsonl --out my_collection",
    "autoindex make-queries my_corpus/ --number 500 --seed 1 --out my_collection",
    "autoindex make-queries corpus.jsonl --model my-model --base-url http://localhost:8000/v1 --out my_collection",
)
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), metavar="COLLECTION", help="The folder to write."
)
@click.option("--number", type=click.IntRange(min=3), default=300, show_default=True, help="How many queries.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed gives other queries.")
@model_options
@options.metadata_fields_option
@options.force_option
@options.json_option
def command(
    corpus: Path,
    out: Path,
    number: int,
    seed: int,
    model: "ModelOptions",
    metadata_fields: tuple[str, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Make a collection of CORPUS, which has no questions, with queries made from its documents.

    CORPUS is a file such as corpus.jsonl or a folder that has one. A query is what a title, a heading or a rare phrase
    says, and is judged relevant for its document, from which that line is taken out. With --model a language model
    writes queries in several styles, and one is kept when a second call answers it from the document.

    Such queries are easier and narrower than what people ask: everything that is learned or measured on them says so.
    Replace them by real questions when you have some.
    """
    from autoindex_haystack.collection import load_corpus
    from autoindex_haystack.collection.importers import write_collection
    from autoindex_haystack.errors import CollectionError
    from autoindex_haystack.experiments.synthetic import known_items

    use_model = bool(model.model or model.generator)
    if not use_model and (extra := given(MODEL_NAMES)):
        msg = f"{extra[0]} goes with --model or --generator"
        raise click.UsageError(msg, click.get_current_context())
    check_outputs(out, inputs=[corpus], force=force)
    with progress() as show:
        documents = load_corpus(corpus, metadata_fields=metadata_fields, progress=show.documents)
        show("making queries")
        asked = _ask(documents, number, seed, model, show) if use_model else None
        source = asked.source if asked else known_items(documents, number, seed)
        if not source.queries:
            msg = f"no query could be made of {corpus}: {_why(asked)}"
            raise CollectionError(msg)
        made = write_collection(source, out, force=force, progress=show.documents)
    notes = list(made.notes)
    if asked and asked.ended:
        notes.append(f"The model was not asked to the end: {asked.ended}")
    if made.queries < number:
        notes.append(f"There are {made.queries} queries, not {number}: nothing else in the corpus gave one.")
    if as_json:
        print_json(
            {
                "collection": str(out.resolve()),
                "documents": made.documents,
                "queries": made.queries,
                "synthetic": source.synthetic,
                "seed": seed,
                "notes": notes,
            }
        )
        return
    print_notes(notes)
    click.echo(f"{made.queries:,} synthetic queries for {made.documents:,} documents in {out}")


def _why(asked: "Asked | None") -> str:
    """Say why there is no query."""
    if asked is None:
        return "a document needs a title, heading or sentence of its own, and 10 words beside it"
    if asked.ended:
        return asked.ended
    return (
        f"{asked.copied} copied their document, {asked.unanswered} were not answered from it, and {asked.unread} "
        "answers had none; documents of fewer than 30 words are not asked about"
    )


def _ask(documents: "Sequence[Document]", number: int, seed: int, model: "ModelOptions", show: Progress) -> "Asked":
    """Let the model ask; its exchanges are not kept."""
    from autoindex_haystack.experiments.synthetic import asked_queries
    from autoindex_haystack.llm import EXCHANGES
    from autoindex_haystack.llm.connect import connect

    with tempfile.TemporaryDirectory(prefix="autoindex-") as folder:
        return asked_queries(
            documents,
            number,
            connect(model, Path(folder) / EXCHANGES),
            seed=seed,
            name=model.model or "a language model",
            progress=lambda done: show("asking the model", done, number),
        )
