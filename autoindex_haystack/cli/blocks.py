"""``autoindex index --engine``: a corpus indexed block by block, on the processes of this machine or on Ray."""

import functools
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import click

from autoindex_haystack.cli.output import print_json, progress
from autoindex_haystack.cli.places import check_outputs

if TYPE_CHECKING:
    from autoindex_haystack.distributed import Engine, Indexed
    from autoindex_haystack.distributed.clusters import Cluster, Kind
    from autoindex_haystack.frozen import FrozenComponent
    from autoindex_haystack.retrieval import BM25Settings
    from autoindex_haystack.sandbox import Isolation, Limits

F = TypeVar("F", bound=Callable[..., Any])

_BLOCK_MIB = 64


@dataclass(frozen=True)
class Blocks:
    """What was asked of the work in blocks.

    :param engine: ``local`` or ``ray``.
    :param address: The address of a Ray cluster.
    :param block_bytes: How large a block is.
    :param shards: How many parts of the index to keep; 0 merges them.
    :param sink: The kind of cluster to load, its address, and the name of the index there.
    """

    engine: str
    address: str | None
    block_bytes: int
    shards: int
    sink: tuple["Kind", str, str | None] | None


def blocks_options(function: F) -> F:
    """Give a command ``--engine`` and what goes with it; it gets ``blocks``, None when not asked for."""

    @click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        help="Work in blocks, which go on where they were stopped: on this machine's processes, or on Ray.",
    )
    @click.option("--address", metavar="ADDRESS", help="The Ray cluster. [default: Ray is started on this machine]")
    @click.option("--shards", type=click.IntRange(min=1), metavar="N", help="Keep N parts of a Lucene index unmerged.")
    @click.option(
        "--block-size",
        type=click.IntRange(min=1, max=1 << 20),
        metavar="MIB",
        help=f"How large a block is, uncompressed, in MiB. [default: {_BLOCK_MIB}]",
    )
    @click.option(
        "--sink",
        type=click.Choice(["opensearch", "elasticsearch"]),
        help="Load the chunks into an index of a cluster; a local index is then built only with --backend.",
    )
    @click.option("--url", metavar="URL", help="The cluster's address, with --sink.")
    @click.option("--index-name", metavar="NAME", help="The index there. [default: that of the component's pipelines]")
    @functools.wraps(function)
    def wrapped(
        *args: Any,
        engine: str | None,
        address: str | None,
        shards: int | None,
        block_size: int | None,
        sink: "Kind | None",
        url: str | None,
        index_name: str | None,
        **kwargs: Any,
    ) -> Any:
        ctx = click.get_current_context()
        given = {"--address": address, "--shards": shards, "--block-size": block_size}
        if engine is None and sink is None and (alone := [name for name, value in given.items() if value is not None]):
            msg = f"{alone[0]} goes with --engine"
            raise click.UsageError(msg, ctx)
        _check_sink(sink, url, index_name)
        if address is not None and engine != "ray":
            msg = "--address goes with --engine ray"
            raise click.UsageError(msg, ctx)
        blocks = None
        if engine is not None or sink is not None:
            where = (sink, url, index_name) if sink and url else None
            blocks = Blocks(engine or "local", address, (block_size or _BLOCK_MIB) << 20, shards or 0, where)
        return function(*args, blocks=blocks, **kwargs)

    return wrapped  # type: ignore[return-value]


def _check_sink(sink: "Kind | None", url: str | None, index_name: str | None) -> None:
    """Refuse what does not fit together, and a password where others could read it."""
    ctx = click.get_current_context()
    if sink is None and (url or index_name):
        msg = f"{'--url' if url else '--index-name'} goes with --sink"
        raise click.UsageError(msg, ctx)
    if sink is None:
        return
    parts = urlsplit(url or "")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        msg = "--sink needs the cluster's --url, such as https://localhost:9200"
        raise click.UsageError(msg, ctx)
    if parts.username or parts.password:
        from autoindex_haystack.distributed.clusters import CREDENTIALS

        msg = f"the --url must not hold a password; set {' and '.join(CREDENTIALS[sink])} instead"
        raise click.UsageError(msg, ctx)


def index_in_blocks(
    corpora: Sequence[str],
    frozen: Path | None,
    out: str,
    blocks: Blocks,
    *,
    backend: str,
    bm25: "Callable[[BM25Settings | None], BM25Settings]",
    limits: "Limits",
    workers: int,
    isolation: "Isolation",
    force: bool,
    as_json: bool,
) -> None:
    """Index a corpus block by block and print what was made.

    :param corpora: Files, folders or patterns, local or by URL.
    :param frozen: The frozen component.
    :param out: The job's folder, local or by URL.
    :param blocks: How the work is done.
    """
    from autoindex_haystack.distributed import index_corpus
    from autoindex_haystack.frozen import load_frozen
    from autoindex_haystack.retrieval import get_backend

    ctx = click.get_current_context()
    began = time.monotonic()
    if frozen is None:
        msg = "--engine needs a frozen component: give --component, or freeze a program with `autoindex index` first"
        raise click.UsageError(msg, ctx)
    if blocks.shards and not get_backend(backend).joins_parts:
        msg = f"the parts of an index of {backend} cannot be searched together; give --backend lucene with --shards"
        raise click.UsageError(msg, ctx)
    if "://" not in out:
        local = [Path(corpus) for corpus in corpora if "://" not in corpus]
        check_outputs(Path(out), inputs=[*local, frozen], force=True)  # A job that was stopped goes on.
        out = str(Path(out).resolve())
    component = load_frozen(frozen)
    settings = bm25(component.manifest.settings.bm25)
    cluster = _cluster(blocks, component, settings)
    wanted: str | None = backend
    if cluster is not None and ctx.get_parameter_source("backend") is click.core.ParameterSource.DEFAULT:
        wanted = None
    given = ctx.get_parameter_source("workers") is not click.core.ParameterSource.DEFAULT
    with progress() as show, closing(_engine(blocks, workers if given or blocks.address is None else None)) as engine:
        made = index_corpus(
            corpora,
            component,
            out,
            engine=engine,
            backend=wanted,
            bm25=settings,
            cluster=cluster,
            shards=blocks.shards,
            block_bytes=blocks.block_bytes,
            limits=limits,
            isolation=isolation,
            force=force,
            progress=show,
        )
        summary = {
            "out": out,
            "engine": blocks.engine,
            "workers": engine.workers,
            "backend": wanted,
            "sink": {"kind": cluster.kind, "url": cluster.url, "index": cluster.index} if cluster else None,
            **made.model_dump(mode="json", exclude={"seconds"}),
            "component": str(frozen.resolve()),
            "component_sha256": component.manifest.sha256,
            "program_sha256": component.program.sha256,
            "bm25": settings.model_dump(mode="json"),
            "stages": made.seconds,
        }
    summary["seconds"] = time.monotonic() - began
    if as_json:
        print_json(summary)
        return
    _print(summary, made, cluster)


def _cluster(blocks: Blocks, component: "FrozenComponent", settings: "BM25Settings") -> "Cluster | None":
    """The index of a cluster that is to be loaded."""
    if blocks.sink is None:
        return None
    from autoindex_haystack.distributed.clusters import Cluster
    from autoindex_haystack.frozen.pipelines import default_index

    kind, url, name = blocks.sink
    return Cluster.from_environment(kind, url, name or default_index(component.manifest), settings)


def _print(summary: dict[str, Any], made: "Indexed", cluster: "Cluster | None") -> None:
    """Say what was made to people."""
    out = summary["out"]
    kept = f" ({made.resumed:,} of them finished before)" if made.resumed else ""
    click.echo(
        f"{made.documents:,} documents as {made.chunks:,} chunks in {out} ({summary['backend'] or 'Parquet'}, "
        f"component {summary['component_sha256'][:12]}, {made.blocks:,} blocks{kept}, {summary['seconds']:.1f} seconds)"
    )
    if cluster:
        click.echo(f"{made.loaded:,} chunks are in the index {cluster.index} at {cluster.url}")
    if made.refused:
        click.echo(f"{made.refused:,} documents have chunks that the cluster refused; see {out}/loaded/*.failed.jsonl")
    if made.failed:
        click.echo(f"{made.failed:,} documents failed; see {out}/chunks/*.failed.jsonl")
    if made.unreachable:
        click.echo(f"{made.unreachable:,} documents have no token left and cannot be found")


def _engine(blocks: Blocks, workers: int | None) -> "Engine":
    from autoindex_haystack.distributed import LocalEngine, RayEngine

    if blocks.engine == "ray":
        return RayEngine(workers, blocks.address)
    assert workers
    return LocalEngine(workers)
