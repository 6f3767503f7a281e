"""Make the table of what helped on which kind of documents, from run folders of the built-in proposer.

    .venv/bin/python benchmarks/priors.py RUN... --out autoindex_haystack/proposers/builtin/priors.json

RUN is ``COLLECTION=RUN_FOLDER``. Only the journal is read, and with it the validation queries' figures alone. The table
names no collection: a row has the kind of its documents and a fingerprint of its corpus, so that a corpus is never
advised by its own row.
"""

import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import click

from autoindex_haystack.collection import load_collection
from autoindex_haystack.proposers.builtin.experience import NDCG_WEIGHT, worth
from autoindex_haystack.proposers.builtin.priors import fingerprint, kind_of
from autoindex_haystack.proposers.builtin.profile import profile_corpus

ORIGIN = (
    "benchmarks/priors.py, from runs of the built-in proposer: Recall@100 plus a quarter of nDCG@10 on validation "
    "queries, of programs that changed one transform of the baseline"
)


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="COLLECTION=RUN...")
@click.option("--out", required=True, type=click.Path(path_type=Path))
def main(runs: tuple[str, ...], out: Path) -> None:
    """Write the table."""
    rows = [row(*map(Path, run.split("="))) for run in runs]
    rows.sort(key=lambda found: found["corpus"])
    out.write_text(json.dumps({"origin": ORIGIN, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    click.echo(f"{len(rows)} rows, {sum(len(found['gain']) for found in rows)} gains")


def row(folder: Path, run: Path) -> dict[str, Any]:
    """One collection's row."""
    documents = load_collection(folder).documents
    records = [json.loads(line) for line in (run / "journal.jsonl").read_text(encoding="ascii").splitlines()]
    figures = {record["program"]: record["metrics"] for record in records if record["record"] == "evaluation"}
    plans: dict[str, dict[str, Any]] = {}
    baseline = next(iter(figures))
    gains, surplus = defaultdict(list), defaultdict(list)
    for record in records:
        if record["record"] == "evidence":
            # Forecasts of a later round are of another incumbent.
            plans = {plan["idea"]: plan for plan in record.get("forecasts", ())}
        plan = plans.get(record.get("idea", ""))
        if record["record"] != "candidate" or record["parents"] != [baseline] or plan is None:
            continue
        if plan["kind"] == "addition" and record["program"] in figures:
            gain = worth(figures[record["program"]]) - worth(figures[baseline])
            gains[plan["transforms"][-1]].append(gain)
            if forecast := plan["forecast"]:
                promised = forecast["recall"] + NDCG_WEIGHT * forecast["ndcg"]
                surplus[plan["transforms"][-1]].append(gain - promised)
    return {
        "corpus": fingerprint(documents),
        "kind": kind_of(profile_corpus(documents)),
        "gain": {name: round(max(values), 4) for name, values in sorted(gains.items())},
        "surplus": {name: round(fmean(values), 4) for name, values in sorted(surplus.items())},
    }


if __name__ == "__main__":
    main()
