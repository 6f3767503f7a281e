"""``autoindex index``: a corpus as chunks in the folder of a Haystack document store, whole or not at all."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.blocks import Blocks, blocks_options, index_in_blocks
from autoindex_haystack.cli.output import Progress, print_json, progress
from autoindex_haystack.cli.places import check_outputs
from autoindex_haystack.cli.stores import COMPONENT

if TYPE_CHECKING:
    from autoindex_haystack.collection import Document
    from autoindex_haystack.frozen import ComponentSettings, FrozenComponent
    from autoindex_haystack.program import Program
    from autoindex_haystack.retrieval import BM25Settings
    from autoindex_haystack.sandbox import Isolation, Limits


@options.command(
    "index",
    "autoindex index my_collection --component my_run/frozen --out my_index",
    "autoindex index corpus.jsonl.gz --program builtin:passages --backend lucene --out my_index",
    "autoindex index 's3://bucket/part-*.parquet' --component my_run/frozen --engine ray --backend lucene \\\n"
    "      --out s3://bucket/index",
)
@click.argument("corpora", metavar="CORPUS...", nargs=-1, required=True)
@click.option(
    "--component",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FROZEN",
    help="The frozen component to index with.",
)
@click.option(
    "--program",
    type=options.ProgramName(),
    metavar="FILE|FROZEN|builtin:NAME",
    help="A program instead: it calibrates on CORPUS and is frozen into INDEX. [default: builtin:full_document]",
)
@options.backend_option
@click.option("--out", required=True, metavar="INDEX", help="The folder to write; with --engine also a URL.")
@blocks_options
@options.bm25_options()
@options.metadata_fields_option
@options.allow_import_option
@options.limits_options
@options.workers_option
@options.sandbox_option
@options.force_option
@options.json_option
def command(
    corpora: tuple[str, ...],
    component: Path | None,
    program: str | None,
    backend: str,
    out: str,
    blocks: Blocks | None,
    bm25: "Callable[[BM25Settings | None], BM25Settings]",
    metadata_fields: tuple[str, ...],
    allowed_imports: tuple[str, ...],
    limits: "Limits",
    workers: int,
    isolation: "Isolation",
    force: bool,
    as_json: bool,
) -> None:
    """Run a program over CORPUS and index its chunks in the folder INDEX.

    CORPUS is a file such as corpus.jsonl (plain, .gz or .zst) or a collection folder. INDEX is what
    `Bm25sDocumentStore(path)` or `LuceneDocumentStore(path)` opens in Haystack, and `autoindex search` here.

    With --engine the work is done in blocks, for a corpus that outgrows one machine: CORPUS is any number of files,
    folders or patterns, JSON lines or Parquet, also by URL. INDEX gets the chunks as Parquet and the index; run again,
    it goes on where it was stopped. Documents at which the program fails are put aside with their errors.
    """
    frozen = _frozen_folder(component, program)
    if frozen and (metadata_fields or allowed_imports):
        msg = "--metadata-fields and --allow-import go with a plain program; a frozen component has its own"
        raise click.UsageError(msg, click.get_current_context())
    how: dict[str, Any] = {"limits": limits, "workers": workers, "isolation": isolation}
    if blocks is not None:
        how |= {"force": force, "as_json": as_json}
        index_in_blocks(corpora, frozen, out, blocks, backend=backend, bm25=bm25, **how)
        return
    if len(corpora) > 1 or any("://" in place for place in (*corpora, out)):
        msg = "more than one CORPUS, and URLs, go with --engine"
        raise click.UsageError(msg, click.get_current_context())
    plain = None if frozen else (program or "builtin:full_document", metadata_fields, allowed_imports)
    _index_whole(Path(corpora[0]), frozen, plain, backend, Path(out), bm25, **how, force=force, as_json=as_json)


def _index_whole(
    corpus: Path,
    frozen: Path | None,
    plain: tuple[str, tuple[str, ...], tuple[str, ...]] | None,
    backend: str,
    out: Path,
    bm25: "Callable[[BM25Settings | None], BM25Settings]",
    *,
    limits: "Limits",
    workers: int,
    isolation: "Isolation",
    force: bool,
    as_json: bool,
) -> None:
    """Index a corpus as a whole, with a frozen component or with a plain program, its metadata fields and imports."""
    from autoindex_haystack.collection import load_corpus
    from autoindex_haystack.evaluation import resolve_program
    from autoindex_haystack.files import atomic_folder
    from autoindex_haystack.frozen import ComponentSettings, load_frozen, verify_frozen

    began = time.monotonic()
    name, metadata_fields, allowed_imports = plain or (str(frozen), (), ())
    check_outputs(out, inputs=[corpus, *([frozen] if frozen else [])], force=force)
    resolved = resolve_program(frozen or name)
    settings = bm25(resolved.settings.bm25)
    own = ComponentSettings(bm25=settings, metadata_fields=metadata_fields, allowed_imports=allowed_imports)
    fields = (resolved.settings if frozen else own).metadata_fields
    with progress() as show:
        documents = load_corpus(corpus, metadata_fields=fields, progress=show.documents)
        with atomic_folder(out, force=force) as folder:
            used = (
                load_frozen(frozen)
                if frozen
                else _freeze(resolved.program, documents, folder, own, limits, isolation, show)
            )
            # Haystack takes its time to load: bad input and bad programs are told before.
            from autoindex_haystack.cli.indexing import build_index

            built = build_index(
                documents,
                used,
                backend,
                settings,
                folder,
                limits=limits,
                workers=workers,
                isolation=isolation,
                show=show,
            )
        if not frozen:
            verify_frozen(out / COMPONENT, relocate=True)
    summary: dict[str, Any] = {
        "index": str(out.resolve()),
        "backend": backend,
        "documents": len(documents),
        "chunks": built.chunks,
        "unreachable": len(built.unreachable),
        "component": str(frozen.resolve() if frozen else (out / COMPONENT).resolve()),
        "component_sha256": used.manifest.sha256,
        "program_sha256": used.program.sha256,
        "bm25": settings.model_dump(mode="json"),
        "seconds": time.monotonic() - began,
    }
    if as_json:
        print_json(summary)
        return
    click.echo(
        f"{summary['documents']:,} documents as {summary['chunks']:,} chunks in {out} ({backend}, "
        f"component {used.manifest.sha256[:12]}, {summary['seconds']:.1f} seconds)"
    )
    if built.unreachable:
        click.echo(f"{len(built.unreachable):,} documents have no token left and cannot be found")


def _freeze(
    program: "Program",
    documents: "Sequence[Document]",
    folder: Path,
    settings: "ComponentSettings",
    limits: "Limits",
    isolation: "Isolation",
    show: Progress,
) -> "FrozenComponent":
    """Freeze a plain program into the index that is being written."""
    from autoindex_haystack.frozen.freeze import freeze_program
    from autoindex_haystack.runs import installed_versions

    show("calibrating")
    return freeze_program(
        program,
        documents,
        folder / COMPONENT,
        settings=settings,
        limits=limits,
        versions=installed_versions(),
        isolation=isolation,
    )


def _frozen_folder(component: Path | None, program: str | None) -> Path | None:
    """Find the frozen component that was named, by either option."""
    if component is not None and program is not None:
        msg = "give either --component or --program"
        raise click.UsageError(msg, click.get_current_context())
    if component is not None:
        return component
    return Path(program) if program is not None and Path(program).is_dir() else None
