"""``autoindex split``: write down which queries choose a program and which only judge it."""

from pathlib import Path
from typing import Any

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json, print_notes, progress
from autoindex_haystack.cli.places import check_outputs


@options.command("split", "autoindex split my_collection --out my_split.json")
@options.collection_argument
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="FILE", help="The split file to write.")
@click.option("--split-seed", type=int, default=0, show_default=True, help="Another seed gives another split.")
@options.force_option
@options.json_option
def command(collection: Path, out: Path, split_seed: int, force: bool, as_json: bool) -> None:
    """Split the queries of COLLECTION: a third for validation, the others held out.

    Queries with equal texts stay together, and the split does not depend on the order of the file. Give the file to
    `optimize` and `evaluate` with --split.
    """
    from autoindex_haystack.collection import load_collection, make_split

    check_outputs(out, inputs=[collection], force=force)
    with progress() as show:
        loaded = load_collection(collection, progress=show.documents)
    split = make_split(loaded, split_seed)
    split.save(out)
    summary: dict[str, Any] = {
        "collection": loaded.name,
        "seed": split_seed,
        "validation": len(split.validation),
        "held_out": len(split.held_out),
        "out": str(out),
        "notes": loaded.notes(),
    }
    if as_json:
        print_json(summary)
        return
    print_notes(loaded.notes())
    click.echo(f"{loaded.name}: {len(split.validation)} validation and {len(split.held_out)} held-out queries in {out}")
