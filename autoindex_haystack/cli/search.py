"""``autoindex search``: the original documents for a query, or a run file for many."""

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json, progress
from autoindex_haystack.cli.places import check_outputs
from autoindex_haystack.cli.text import one_line, shortened

TOP_K, TOP_K_OF_FILES = 10, 100
_TITLE = 100


@options.command(
    "search",
    'autoindex search my_index "how do I copy a folder"',
    "autoindex search my_index --queries my_collection/queries.jsonl --run-file my_run.trec",
)
@click.argument("index", type=click.Path(path_type=Path))
@click.argument("query", required=False)
@click.option(
    "--top-k",
    type=click.IntRange(min=1),
    help=f"How many documents: by default {TOP_K} for QUERY, {TOP_K_OF_FILES} for each query of a file.",
)
@click.option("--queries", type=click.Path(path_type=Path), metavar="FILE", help="Queries as JSON lines: _id and text.")
@click.option("--run-file", type=click.Path(path_type=Path), metavar="OUT", help="The TREC run file for --queries.")
@options.force_option
@options.json_option
def command(
    index: Path,
    query: str | None,
    top_k: int | None,
    queries: Path | None,
    run_file: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Search INDEX, a folder that `autoindex index` or a Haystack document store wrote.

    Shows the original documents, best first, with the passage of the chunk that matched best; the score is that of this
    chunk (MaxP). With --queries and --run-file all queries of a file are asked and the ranked ids written.
    """
    ctx = click.get_current_context()
    if (query is None) == (queries is None):
        msg = "give either QUERY or --queries FILE"
        raise click.UsageError(msg, ctx)
    if (queries is None) != (run_file is None):
        msg = "--queries and --run-file belong together"
        raise click.UsageError(msg, ctx)
    if queries is not None and run_file is not None:
        summary = _search_file(index, queries, run_file, top_k or TOP_K_OF_FILES, force)
    else:
        summary = _search_one(index, query or "", top_k or TOP_K)
    if as_json:
        print_json(summary)
    elif run_file is not None:
        click.echo(f"{summary['queries']:,} queries, {summary['hits']:,} hits in {run_file}")
    else:
        _print(summary)


def _search_one(index: Path, query: str, top_k: int) -> dict[str, Any]:
    """Ask one query."""
    from autoindex_haystack.cli.passage import passage
    from autoindex_haystack.cli.stores import open_store

    began = time.monotonic()
    with progress() as show:
        show("searching")
        with closing(open_store(index)) as store:
            found = store.search_documents(query, top_k=top_k)
    return {
        "index": str(index),
        "backend": store.backend,
        "query": query,
        "results": [
            {
                "rank": rank,
                "score": document.score,
                "id": document.id,
                "title": document.meta.get("title"),
                "content": document.content,
                "passage": passage(document.meta["best_chunk"]["content"], query, analyzer=store.settings.analyzer),
                "chunk": document.meta["best_chunk"]["id"],
            }
            for rank, document in enumerate(found, start=1)
        ],
        "seconds": time.monotonic() - began,
    }


def _search_file(index: Path, queries: Path, run_file: Path, top_k: int, force: bool) -> dict[str, Any]:
    """Ask the queries of a file and write the rankings."""
    from autoindex_haystack.cli.stores import open_store
    from autoindex_haystack.collection import read_queries
    from autoindex_haystack.evaluation import write_run_file

    began = time.monotonic()
    check_outputs(run_file, inputs=[index, queries], force=force)
    texts = read_queries(queries)
    rankings: dict[str, list[tuple[str, float]]] = {}
    with progress() as show:
        show("opening the index")
        with closing(open_store(index)) as store:
            for number, (name, text) in enumerate(texts.items()):
                show("searching", number, len(texts))
                found = store.search_documents(text, top_k=top_k)
                rankings[name] = [(document.id, document.score or 0.0) for document in found]
    write_run_file(run_file, rankings)
    return {
        "index": str(index),
        "backend": store.backend,
        "queries": len(texts),
        "top_k": top_k,
        "hits": sum(map(len, rankings.values())),
        "run_file": str(run_file),
        "seconds": time.monotonic() - began,
    }


def _print(summary: dict[str, Any]) -> None:
    """Print the results for people."""
    if not summary["results"]:
        click.echo("no document matches")
    for result in summary["results"]:
        name = shortened(result["title"] or result["content"] or "", _TITLE)
        click.echo(f"{result['rank']:>3}  {result['score']:8.4f}  {one_line(result['id'])}  {name}")
        if not result["passage"].startswith(name[:-1]):
            click.echo(f"{'':15}{result['passage']}")
