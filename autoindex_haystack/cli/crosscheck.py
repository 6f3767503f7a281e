"""``autoindex crosscheck``: do both engines find the same documents with the same scores, and if not, why?"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json, print_notes, print_table, progress
from autoindex_haystack.cli.places import check_outputs

if TYPE_CHECKING:
    from autoindex_haystack.retrieval import BM25Settings
    from autoindex_haystack.retrieval.parity import Parity
    from autoindex_haystack.sandbox import Isolation, Limits

ENGINES = ("bm25s", "lucene")


@options.command(
    "crosscheck",
    "autoindex crosscheck my_collection",
    "autoindex crosscheck my_collection --program my_run/frozen --json",
    "autoindex crosscheck my_collection --analyzer lucene-english --out differences.json",
)
@options.collection_argument
@options.program_option
@options.bm25_options()
@options.metadata_fields_option
@options.allow_import_option
@options.limits_options
@options.workers_option
@options.sandbox_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the certificate with every document that stands elsewhere, query by query, as JSON.",
)
@options.force_option
@options.json_option
@click.pass_context
def command(
    ctx: click.Context,
    collection: Path,
    program: str,
    bm25: "Callable[[BM25Settings | None], BM25Settings]",
    metadata_fields: tuple[str, ...],
    allowed_imports: tuple[str, ...],
    limits: "Limits",
    workers: int,
    isolation: "Isolation",
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Index the same chunks of COLLECTION with bm25s and with Lucene, ask both all queries and explain differences.

    Lucene keeps a chunk's length in one byte, leaves chunks without tokens out of its averages and sums floats its own
    way. A model of all that must give Lucene's ranking; the certificate says how often it does, and which of these
    moved each document that stands elsewhere. With a frozen component as --program, the certificate is written into
    it as parity.json, and `autoindex verify` warns when other versions are installed.

    Exit code 1 when anything is unexplained.
    """
    from autoindex_haystack.collection import load_collection
    from autoindex_haystack.evaluation import Evaluator, means, resolve_program
    from autoindex_haystack.evaluation.reachable import check_reachable, chunks_with_token, documents_with_token
    from autoindex_haystack.evaluation.readings import rank_and_score
    from autoindex_haystack.frozen import Certificate, write_certificate
    from autoindex_haystack.retrieval import Bm25sIndex, get_backend
    from autoindex_haystack.retrieval.parity import certify

    began = time.monotonic()
    check_outputs(out, inputs=[collection], force=force)
    lucene = get_backend("lucene")
    resolved = resolve_program(program)
    settings = bm25(resolved.settings.bm25)
    fields = dict.fromkeys((*resolved.settings.metadata_fields, *metadata_fields))
    imports = (*resolved.settings.allowed_imports, *allowed_imports)
    with progress() as show:
        loaded = load_collection(collection, metadata_fields=fields, progress=show.documents)
        with Evaluator(
            loaded, settings, limits=limits, workers=workers, allowed_imports=imports, isolation=isolation
        ) as evaluator:
            chunks, _ = evaluator.run(resolved.program, state=resolved.state, progress=show)
            reachable = documents_with_token(loaded.documents, settings.analyzer)
            found = chunks_with_token(chunks, settings.analyzer)
            unreachable = check_reachable(reachable, found, chunks.document_ids, limits.unreachable)
            show("indexing with both engines")
            with Bm25sIndex.build(chunks, settings) as one, lucene.build(chunks, settings) as other:
                show("searching with both engines and the models between them")
                parity = certify(one, other, chunks, loaded.queries)
                metrics = {
                    name: means(rank_and_score(index, loaded.queries, loaded.qrels)[1])
                    for name, index in zip(ENGINES, (one, other), strict=True)
                }
    certificate = Certificate(
        collection=loaded.name,
        program_sha256=resolved.program.sha256,
        bm25=settings,
        queries=len(loaded.queries),
        identical_top100_modelled=parity.count("identical"),
        rounding=parity.count("rounding"),
        unexplained=parity.unexplained,
        max_relative_difference_modelled=parity.largest_modelled,
        max_relative_difference_plain=parity.largest_difference,
        overlap_10_plain=parity.overlap_10,
        overlap_100_plain=parity.overlap_100,
        causes=parity.causes,
        metrics=metrics,
        versions={**Bm25sIndex.versions(), **lucene.versions()},
    )
    written = write_certificate(Path(program), certificate) if resolved.state is not None else None
    summary = {
        **certificate.model_dump(mode="json"),
        "documents": len(loaded.documents),
        "chunks": len(chunks),
        "unreachable": len(unreachable),
        "seconds": time.monotonic() - began,
        "notes": loaded.notes(),
    }
    if out:
        _write_details(out, summary, parity)
    if as_json:
        print_json(summary)
    else:
        print_notes(loaded.notes())
        _print(summary)
        if written:
            click.echo(f"certificate: {written}")
    ctx.exit(1 if parity.unexplained else 0)


def _write_details(out: Path, summary: dict[str, Any], parity: "Parity") -> None:
    """Write the certificate with every difference."""
    import json

    from autoindex_haystack.files import atomic_file

    details = {query: compared.model_dump(mode="json") for query, compared in parity.queries.items()}
    with atomic_file(out) as temporary:
        text = json.dumps({**summary, "by_query": details}, indent=1, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def _print(summary: dict[str, Any]) -> None:
    """Print the certificate for people."""
    click.echo(
        f"{summary['collection']}: {summary['chunks']:,} chunks of {summary['documents']:,} documents, "
        f"{summary['queries']:,} queries, {summary['seconds']:.1f} seconds"
    )
    click.echo(
        f"Lucene's first 100 documents: {summary['identical_top100_modelled']} queries as modelled, "
        f"{summary['rounding']} differ at a rounding boundary, {summary['unexplained']} unexplained; "
        f"scores within {summary['max_relative_difference_modelled']:.1e}"
    )
    click.echo(
        f"bm25s and Lucene share {summary['overlap@10_plain']:.1%} of the first 10 and "
        f"{summary['overlap@100_plain']:.1%} of the first 100 documents; scores within "
        f"{summary['max_relative_difference_plain']:.1e}"
    )
    moved = [[cause, f"{count:,}"] for cause, count in summary["causes"].items() if count]
    if moved:
        print_table(["why documents stand elsewhere", "documents"], moved)
    one, other = (summary["metrics"][name] for name in ENGINES)
    print_table(["metric", *ENGINES], [[name, f"{one[name]:.4f}", f"{other[name]:.4f}"] for name in one])
