"""Whether what was learned for BM25 also helps where retrieval is dense or hybrid: a table.

    python benchmarks/retrievers.py ../shared/datasets --runs runs --out table.md

Takes the frozen component of each collection's run (``RUNS/NAME-0/frozen``, see ``benchmarks/held_out.py``)
and tells the held-out figures of its split for the full documents and for the learned program, with bm25s, with
embeddings and with both. Needs the extra ``dense``. The same vectors of chunks serve the last two.
"""

import statistics
from pathlib import Path

import click

from autoindex_haystack.collection import Collection, load_collection, load_split
from autoindex_haystack.evaluation import Evaluator, PerQuery, paired_difference, resolve_program
from autoindex_haystack.evaluation.readings import rank_and_score
from autoindex_haystack.retrieval import Bm25sIndex
from autoindex_haystack.retrieval.dense_backend import DenseRetriever
from autoindex_haystack.retrieval.embedding import DEFAULT_PACKAGE
from autoindex_haystack.retrieval.hybrid_backend import HybridRetriever

METRICS = ("recall@100", "ndcg@10")
HEAD = (
    "| collection | retriever | Recall@100 | learned | gain | p | nDCG@10 | learned | gain | p |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


@click.command()
@click.argument("datasets", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--collection", "names", multiple=True, default=("cranfield", "theoremqa", "npl_vaswani"), show_default=True
)
@click.option("--runs", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--package", default=DEFAULT_PACKAGE, show_default=True, help="The package with the embedding model.")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write the table; printed as well.")
def main(datasets: Path, names: tuple[str, ...], runs: Path, package: str, out: Path | None) -> None:
    """Compare representations under three retrievers."""
    lines = [HEAD]
    for name in names:
        run = runs / f"{name}-0"
        component = resolve_program(run / "frozen")
        collection = load_collection(datasets / name, metadata_fields=component.settings.metadata_fields)
        queries = load_split(run, collection).held_out
        before = scored(collection, "builtin:full_document", queries, package)
        after = scored(collection, run / "frozen", queries, package)
        for retriever in before:
            lines.append(row(name, retriever, before[retriever], after[retriever]))
            click.echo(lines[-1], err=True)
    text = "\n".join(lines) + "\n"
    click.echo(text)
    if out:
        out.write_text(text, encoding="utf-8")


def scored(collection: Collection, program: str | Path, queries: list[str], package: str) -> dict[str, PerQuery]:
    """Returns for each retriever the figures of every query."""
    found = resolve_program(program)
    settings, imports = found.settings.bm25, found.settings.allowed_imports
    with Evaluator(collection, settings, allowed_imports=imports) as evaluator:
        chunks, _ = evaluator.run(found.program, state=found.state)
    bm25s = Bm25sIndex.build(chunks, settings)
    dense = DenseRetriever.on(package).build(chunks, settings)
    retrievers = {"bm25s": bm25s, "dense": dense, "hybrid": HybridRetriever(bm25s, dense)}
    texts = {query: collection.queries[query] for query in queries}
    return {name: rank_and_score(one, texts, collection.qrels)[1] for name, one in retrievers.items()}


def row(name: str, retriever: str, before: PerQuery, after: PerQuery) -> str:
    """One line of the table."""
    cells = [name, retriever]
    for metric in METRICS:
        old, new = ([scores[query][metric] for query in before] for scores in (before, after))
        mean, learned = statistics.fmean(old), statistics.fmean(new)
        p_value = paired_difference(new, old).p_value
        cells += [f"{mean:.3f}", f"{learned:.3f}", f"{learned / mean - 1:+.1%}", f"{p_value:.2g}"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
