"""``autoindex drift``: are new documents still like those that a component was learned on?"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json, print_table, progress
from autoindex_haystack.cli.text import one_line

if TYPE_CHECKING:
    from autoindex_haystack.sandbox import Isolation

DRIFTED = 1
"""The exit code when something has drifted."""


@options.command(
    "drift",
    "autoindex drift my_run/frozen my_collection",
    "autoindex drift my_run/frozen my_collection --threshold 0.1 --json",
)
@click.argument("frozen", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option(
    "--threshold",
    type=options.Number(min=0, max=1),
    default=0.15,
    show_default=True,
    help="The difference from which on something has drifted, if it is also more than chance explains.",
)
@options.workers_option
@options.sandbox_option
@options.json_option
@click.pass_context
def command(
    ctx: click.Context,
    frozen: Path,
    corpus: Path,
    threshold: float,
    workers: int,
    isolation: "Isolation",
    as_json: bool,
) -> None:
    """Compare the documents of CORPUS with those that the component FROZEN was learned on.

    CORPUS is a file such as corpus.jsonl (plain, .gz or .zst) or a collection folder; at most 5,000 documents of it are
    looked at. Compared are how many documents the program changes, and each of its transforms, the lengths and numbers
    of chunks, unknown words, and documents that cannot be found. A difference is 0 to 1; of unknown words and of
    documents that cannot be found only an increase counts. When it learned, each document was taken for a new one, so
    that some words were unknown then, too. "By chance" is the difference that chance explains; the fewer documents, the
    larger. Exit code 1 when something has drifted: then measure again with `autoindex evaluate`, or learn anew.
    """
    from autoindex_haystack.collection import load_corpus
    from autoindex_haystack.frozen import load_frozen
    from autoindex_haystack.frozen.fingerprint import compare_fingerprints, read_fingerprint, take_fingerprint

    component = load_frozen(frozen)
    learned = read_fingerprint(component.path)
    settings = component.manifest.settings
    with progress() as show:
        documents = load_corpus(corpus, metadata_fields=settings.metadata_fields, progress=show.documents)
        show("running the program")
        now = take_fingerprint(
            component.program,
            component.state,
            documents,
            settings=settings,
            known=learned,
            workers=workers,
            isolation=isolation,
        )
    found = compare_fingerprints(learned, now, threshold)
    drifted = [drift.name for drift in found if drift.drifted]
    if as_json:
        print_json(
            {
                "frozen": str(component.path),
                "documents": {"learned": learned.documents, "now": now.documents},
                "threshold": threshold,
                "drifted": drifted,
                "properties": [drift.model_dump() for drift in found],
            }
        )
    else:
        click.echo(f"{now.documents:,} documents against {learned.documents:,} that the component was learned on")
        rows = [
            [
                one_line(drift.name),
                f"{drift.learned:.3g}",
                f"{drift.now:.3g}",
                f"{drift.difference:.3f}",
                f"{drift.chance:.3f}",
                "drifted" if drift.drifted else "",
            ]
            for drift in found
        ]
        print_table(["property", "learned", "now", "difference", "by chance", ""], rows)
        if drifted:
            click.echo(f"drifted: {one_line(', '.join(drifted))}")
        else:
            chance = max(drift.chance for drift in found)
            few = f"; in so few documents differences up to {chance:.2f} may be chance" if chance > threshold else ""
            click.echo(f"nothing has drifted{few}")
    ctx.exit(DRIFTED if drifted else 0)
