"""``autoindex freeze``: another program of a run than the one that was adopted."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json
from autoindex_haystack.cli.places import check_outputs

if TYPE_CHECKING:
    from autoindex_haystack.sandbox import Isolation


@options.command(
    "freeze",
    "autoindex freeze my_run --program 2.1",
    "autoindex freeze my_run --program 3f2a9c --out my_small_component",
)
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--program",
    required=True,
    metavar="PROGRAM",
    help="A label such as 2.1 (iteration 2, candidate 1), or the program's sha256 or its first digits.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="The new folder. Default: RUN/frozen-SHA.")
@click.option(
    "--collection",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The collection of the run, when it is no longer where it was.",
)
@options.workers_option
@options.sandbox_option
@options.force_option
@options.json_option
def command(
    run: Path,
    program: str,
    out: Path | None,
    collection: Path | None,
    workers: int,
    isolation: "Isolation",
    force: bool,
    as_json: bool,
) -> None:
    """Freeze a program of the finished run RUN, such as a smaller or quicker one.

    `pareto` in RUN/result.json lists those that no other program beats in Recall@100, nDCG@10, index size and indexing
    time. The held-out queries are scored for the program now; its card and manifest say that it was chosen by hand.
    """
    from autoindex_haystack.optimizer.refreeze import freeze_from_run

    check_outputs(out, inputs=[run], force=force)
    frozen = freeze_from_run(
        run, program, out, collection=collection, workers=workers, isolation=isolation, force=force
    )
    gain = frozen.manifest.gain
    assert gain
    if as_json:
        summary = {"frozen": str(frozen.path), "sha256": frozen.manifest.sha256}
        print_json(summary | {"program_sha256": frozen.program.sha256, "gain": gain.model_dump(mode="json")})
        return
    click.echo(
        f"gain in {gain.objective}: {gain.held_out:+.4f} held-out ({gain.low:+.4f} to {gain.high:+.4f}, p "
        f"{gain.p_value:.2g}), {gain.validation:+.4f} on validation"
    )
    click.echo(f"frozen component {frozen.manifest.sha256[:12]} in {frozen.path}")
