"""``autoindex make-queries``: queries for a corpus that has none."""

from pathlib import Path

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json, print_notes, progress
from autoindex_haystack.cli.places import check_outputs


@options.command(
    "make-queries",
    "autoindex make-queries corpus.jsonl --out my_collection",
    "autoindex make-queries my_corpus/ --number 500 --seed 1 --out my_collection",
)
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), metavar="COLLECTION", help="The folder to write."
)
@click.option("--number", type=click.IntRange(min=3), default=300, show_default=True, help="How many queries.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed gives other queries.")
@options.metadata_fields_option
@options.force_option
@options.json_option
def command(
    corpus: Path, out: Path, number: int, seed: int, metadata_fields: tuple[str, ...], force: bool, as_json: bool
) -> None:
    """Make a collection of CORPUS, which has no questions, with queries made from its documents.

    CORPUS is a file such as corpus.jsonl or a folder that has one. A query is what a title, a heading or a rare phrase
    says, and is judged relevant for its document, from which that line is taken out. Such queries are easier and
    narrower than what people ask: everything that is learned or measured on them says so. Replace them by real
    questions when you have some.
    """
    from autoindex_haystack.collection import load_corpus
    from autoindex_haystack.collection.importers import write_collection
    from autoindex_haystack.experiments.synthetic import known_items

    check_outputs(out, inputs=[corpus], force=force)
    with progress() as show:
        documents = load_corpus(corpus, metadata_fields=metadata_fields, progress=show.documents)
        show("making queries")
        source = known_items(documents, number, seed)
        made = write_collection(source, out, force=force, progress=show.documents)
    notes = list(made.notes)
    if made.queries < number:
        notes.append(f"The corpus gives {made.queries} queries, not {number}: no other line can be one.")
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
