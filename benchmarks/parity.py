"""How bm25s and Lucene agree on the collections of the README, with every difference explained.

    .venv/bin/python benchmarks/parity.py ../shared/datasets --out table.md

runs ``autoindex crosscheck`` on the full documents of each collection.
"""

from pathlib import Path
from typing import Any

import click
from commands import COLLECTIONS, run_json

HEAD = (
    "| collection | queries | as modelled | rounding | unexplained | largest difference | shared of 100, plain | "
    "Recall@100 bm25s / Lucene | nDCG@10 bm25s / Lucene |\n|---|---|---|---|---|---|---|---|---|"
)


@click.command()
@click.argument("datasets", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--collection", "names", multiple=True, default=COLLECTIONS, help="A folder in DATASETS; repeatable.")
@click.option("--analyzer", default="bm25s", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the table; printed as well.")
def main(datasets: Path, names: tuple[str, ...], analyzer: str, out: Path | None) -> None:
    """Crosscheck each collection of DATASETS."""
    rows = []
    for name in names:
        rows.append(row(run_json("crosscheck", datasets / name, "--analyzer", analyzer)))
        click.echo(rows[-1], err=True)
    table = "\n".join([HEAD, *rows]) + "\n"
    click.echo(table)
    if out:
        out.write_text(table, encoding="utf-8")


def row(found: dict[str, Any]) -> str:
    """One line of the table."""
    one, other = found["metrics"]["bm25s"], found["metrics"]["lucene"]
    cells = [
        found["collection"],
        found["queries"],
        found["identical_top100_modelled"],
        found["rounding"],
        found["unexplained"],
        f"{found['max_relative_difference_modelled']:.1e}",
        f"{found['overlap@100_plain']:.1%}",
        *(f"{one[metric]:.4f} / {other[metric]:.4f}" for metric in ("recall@100", "ndcg@10")),
    ]
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
