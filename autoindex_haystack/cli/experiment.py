"""``autoindex experiment``: collections × conditions × seeds × splits, as tables and figures."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json, progress
from autoindex_haystack.cli.places import check_outputs

if TYPE_CHECKING:
    from autoindex_haystack.experiments.grid import Cell, CellResult, Condition, Summary
    from autoindex_haystack.proposers import Proposer
    from autoindex_haystack.sandbox import Isolation, Limits


@options.command("experiment", "autoindex experiment my_experiment.toml --out my_experiment")
@click.argument("spec", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--out", required=True, type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="The folder to fill."
)
@options.limits_options
@options.workers_option
@options.jobs_option
@options.sandbox_option
@options.json_option
def command(
    spec: Path, out: Path, limits: "Limits", workers: int, jobs: int, isolation: "Isolation", as_json: bool
) -> None:
    """Run every cell of the experiment in SPEC, a TOML file, and write its tables and figures to DIR.

    Finished cells are kept in DIR: the same command goes on where it was interrupted, and runs a cell again only when
    what decides its figures has changed. DIR gets tables.md, tables.csv and tables.tex, and the figures progress and
    gains for each metric as .svg and .png. docs/experiments.md explains SPEC.
    """
    from autoindex_haystack.experiments.grid import cells_of, read_spec, run_experiment, summarize
    from autoindex_haystack.experiments.grid.cells import Machine

    read = read_spec(spec)
    begun = (out / "cells").is_dir()
    check_outputs(out, inputs=[spec, *(collection.path for collection in read.collections)], force=begun)
    total = sum(1 for _ in cells_of(read))
    done = 0
    with progress() as show:

        def told(cell: "Cell", result: "CellResult | None", known: bool) -> None:
            nonlocal done
            done += result is not None
            show(f"cell {min(done + 1, total)} of {total}: {cell.key}", done, total)
            if result is not None and not known and not as_json:
                show.say(f"{cell.key}: {result.seconds:.1f} seconds")

        machine = Machine(workers=workers, jobs=jobs, limits=limits, isolation=isolation)
        results = run_experiment(read, out, machine=machine, proposer=_proposer, told=told)
        summary = summarize(read, results)
        files = _write(summary, results, out)
    if as_json:
        print_json(_as_json(summary) | {"cells": total, "files": [str(path) for path in files]})
        return
    click.echo((out / "tables.md").read_text(encoding="utf-8"))
    click.echo(f"{total} cells; tables and figures in {out}")


def _proposer(condition: "Condition", run: Path, spent: float | None) -> "Proposer | None":
    """Make the proposer of a condition; what a model is asked and answers is kept in the run folder."""
    from autoindex_haystack.llm import EXCHANGES
    from autoindex_haystack.llm.connect import ModelOptions, connect
    from autoindex_haystack.proposers.factory import make_proposer

    options = ModelOptions(model=condition.model or "", base_url=condition.base_url, api_key_env=condition.api_key_env)
    exchanges = run / EXCHANGES
    source = () if spent is None else exchanges
    return make_proposer(
        condition.proposer, lambda: connect(options, exchanges, source=source, spent=spent or 0.0), condition.agents
    )


def _write(summary: "Summary", results: "list[CellResult]", out: Path) -> list[Path]:
    from autoindex_haystack.experiments.grid.progress import read_progress
    from autoindex_haystack.files import atomic_file
    from autoindex_haystack.report import as_csv, as_latex, as_markdown
    from autoindex_haystack.report.plots import plot_gains, plot_progress

    files = []
    texts = {"tables.md": as_markdown(summary), "tables.csv": as_csv(summary), "tables.tex": as_latex(summary)}
    for name, text in texts.items():
        files.append(out / name)
        with atomic_file(out / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    for metric in summary.tables:
        plain = metric.replace("@", "_at_")
        runs: dict[str, list[Any]] = {}
        for result in results:
            if result.run is not None:
                runs.setdefault(result.collection, []).append(read_progress(out / result.run, metric))
        if runs:
            files += plot_progress(runs, metric, out / f"progress_{plain}")
        files += plot_gains(summary, metric, out / f"gains_{plain}")
    return files


def _as_json(summary: "Summary") -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(summary)
