"""A whole job: blocks through the program, then the index or the cluster. What is finished is not done again."""

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from xxhash import xxh3_64_intdigest

from autoindex_haystack.distributed.clusters import Cluster, LoadBlock
from autoindex_haystack.distributed.engines import Engine
from autoindex_haystack.distributed.filesystem import shown
from autoindex_haystack.distributed.index_process import is_finished
from autoindex_haystack.distributed.inputs import InputBlock, find_files, plan_blocks
from autoindex_haystack.distributed.output import INDEX, LOADED, BlockRecord, Job, Output
from autoindex_haystack.distributed.parts import BuildPart, merge_parts, plan_parts
from autoindex_haystack.distributed.tasks import MapBlock
from autoindex_haystack.errors import BackendError, CollectionError, ProgramError
from autoindex_haystack.frozen import FrozenComponent
from autoindex_haystack.retrieval import BM25Settings
from autoindex_haystack.sandbox import Isolation, Limits
from autoindex_haystack.wording import counted

BLOCK_BYTES = 64 << 20
_LOADED = f"{LOADED}.json"

Progress = Callable[[str, int, int], object]
"""Called with what is being done, how much is done, and how much there is."""


class Indexed(BaseModel):
    """What a job made.

    :param documents: Documents of the corpus, those put aside counted too.
    :param chunks: Chunks with index text.
    :param failed: Documents, or lines that are none, that were put aside with their errors.
    :param unreachable: Documents that the program left without any token.
    :param blocks: How many blocks there are.
    :param resumed: How many of them were finished before.
    :param parts: How many parts of the index were kept; 0 when they were merged.
    :param loaded: How many chunks a cluster was given.
    :param refused: Of how many documents it refused a chunk.
    :param document_bytes: Bytes of the documents' texts.
    :param chunk_bytes: Bytes of the chunks' texts.
    :param seconds: How long each stage took.
    """

    documents: int = 0
    chunks: int = 0
    failed: int = 0
    unreachable: int = 0
    blocks: int = 0
    resumed: int = 0
    parts: int = 0
    loaded: int = 0
    refused: int = 0
    document_bytes: int = 0
    chunk_bytes: int = 0
    seconds: dict[str, float] = {}


def index_corpus(
    corpora: Sequence[str],
    component: FrozenComponent,
    out: str,
    *,
    engine: Engine,
    backend: str | None = "lucene",
    bm25: BM25Settings | None = None,
    shards: int = 0,
    cluster: Cluster | None = None,
    block_bytes: int = BLOCK_BYTES,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    isolation: Isolation = "full",
    force: bool = False,
    progress: Progress = lambda *_: None,
) -> Indexed:
    """Index a corpus block by block, on one machine or many.

    :param corpora: Files, folders or patterns, see :func:`autoindex_haystack.distributed.inputs.find_files`.
    :param component: The frozen component.
    :param out: The job's folder, local or by URL; on a cluster all machines must reach it.
    :param engine: Where the work is done; it stays open.
    :param backend: The engine of the index; None for chunks alone.
    :param bm25: BM25 parameters and analyzer; the component's own when not given.
    :param shards: How many parts of the index to keep; 0 merges them.
    :param cluster: The index of OpenSearch or Elasticsearch that is loaded, too.
    :param block_bytes: How large a block is.
    :param limits: What the program may use for one document; ``seconds`` is for a block, ``unreachable`` for the share
        of all documents that may fail or lose all tokens.
    :param isolation: How the program's processes are isolated.
    :param force: Replace what is there, also what is finished of this job.
    :param progress: Told what is done.
    :returns: What was made.
    :raises CollectionError: If the corpus is missing or broken, or an id occurs twice.
    :raises ProgramError: If the program fails at too many documents.
    :raises RunError: If the folder holds something else, or another process is at work on it.
    :raises BackendError: If the engine of the index, or that of the work, fails.
    """
    clock = _Clock()
    progress("cutting the corpus into blocks", 0, 0)
    files = find_files(corpora)
    blocks = plan_blocks(files, block_bytes)
    if not blocks:
        msg = f"{shown(files[0].url)} has no documents; a corpus needs at least one"
        raise CollectionError(msg)
    job = Job(
        component_sha256=component.manifest.sha256,
        inputs=tuple(files),
        block_bytes=block_bytes,
        blocks=len(blocks),
        backend=backend,
        bm25=bm25 or component.manifest.settings.bm25,
        shards=shards,
        sink=(cluster.kind, cluster.url, cluster.index) if cluster else None,
    )
    output = Output(out)
    with output.alone():
        output.claim(job, force=force)
        clock.lap("plan")
        records, resumed = _run_blocks(output, blocks, engine, MapBlock(out, component, limits, isolation), progress)
        made = _sums(records)
        made.resumed = resumed
        _check_failures(records, made, limits.unreachable, out)
        clock.lap("program")

        progress("looking for ids that repeat", 0, 0)
        check_ids(output, records)
        clock.lap("ids")

        if backend is not None:
            made.parts = _build_index(output, job, records, engine, progress, clock)
        if cluster is not None:
            _load(output, cluster, records, made, engine, limits.unreachable, progress)
            clock.lap("load")
        output.sweep()
    made.seconds = clock.seconds
    return made


def _run_blocks(
    output: Output, blocks: Sequence[InputBlock], engine: Engine, task: MapBlock, progress: Progress
) -> tuple[list[BlockRecord], int]:
    """Run the program over the blocks that are not finished; returns all records, and how many there were before."""
    finished = output.finished()
    records = {ordinal: output.record(ordinal) for ordinal in finished}
    progress("blocks", len(records), len(blocks))
    for found in engine.each(task, [block for block in blocks if block.ordinal not in finished]):
        record = BlockRecord.model_validate(found)
        records[record.block.ordinal] = record
        progress("blocks", len(records), len(blocks))
    return [records[block.ordinal] for block in blocks], len(finished)


def _build_index(
    output: Output, job: Job, records: Sequence[BlockRecord], engine: Engine, progress: Progress, clock: "_Clock"
) -> int:
    """Build what is missing of the index; returns how many parts were kept."""
    url = output.folder.url
    if not job.shards and is_finished(output.folder / INDEX):
        return 0
    parts = plan_parts(records, job, engine.workers)
    progress("building the index", 0, len(parts))
    for done, _ in enumerate(engine.each(BuildPart(url, job), parts), start=1):
        progress("building the index", done, len(parts))
    clock.lap("index")
    if job.shards:
        return len(parts)
    if parts[0].folder != INDEX:
        progress("merging the index", 0, 0)
        merge_parts(url, job, parts)
        clock.lap("merge")
    return 0


def _load(
    output: Output,
    cluster: Cluster,
    records: Sequence[BlockRecord],
    made: Indexed,
    engine: Engine,
    allowed: float,
    progress: Progress,
) -> None:
    """Load what is missing into the cluster."""
    created = cluster.prepare()
    before = output.folder.read_json(_LOADED)
    # After a stop, what was created by this very job counts as created.
    anew = bool(before["created"]) if before and not created else created
    if before is None or created:
        (output.folder / LOADED).remove()
        output.folder.write_json(_LOADED, {"created": created})
    done = {ordinal: output.loaded(ordinal) for ordinal in output.finished(LOADED)}
    waiting = [record.block.ordinal for record in records if record.block.ordinal not in done]
    progress("loading the cluster", len(done), len(records))
    for found in engine.each(LoadBlock(output.folder.url, cluster, anew=anew), waiting):
        done[found["block"]] = found
        progress("loading the cluster", len(done), len(records))
    cluster.refresh()
    made.loaded = sum(found["chunks"] for found in done.values())
    made.refused = sum(found["refused"] for found in done.values())
    if made.failed + made.unreachable + made.refused > allowed * made.documents:
        first = next(found["first"] for _, found in sorted(done.items()) if found["refused"])
        msg = (
            f"the cluster refused chunks of {counted(made.refused, 'document', 'documents')}, the first is {first}; "
            f"see {output.folder.url}/{LOADED}/*.failed.jsonl, or allow it with --max-unreachable"
        )
        raise BackendError(msg)


def check_ids(output: Output, records: Sequence[BlockRecord]) -> None:
    """Refuse ids that occur more than once.

    :param output: The job's folder.
    :param records: What the blocks have.
    :raises CollectionError: If one does; it names the files.
    """
    hashes = [_id_hashes(output, record.block.ordinal) for record in records]
    every = np.sort(np.concatenate(hashes))
    suspects = set(every[1:][every[1:] == every[:-1]].tolist())
    if not suspects:
        return
    seen: dict[str, int] = {}
    for number, found in enumerate(hashes):
        if not suspects.isdisjoint(found.tolist()):
            for name in _document_ids(output, records[number].block.ordinal):
                if _hash(name) in suspects and name in seen:
                    where = [shown(records[i].block.url) for i in (seen[name], number)]
                    both = where[0] if where[0] == where[1] else " and in ".join(where)
                    msg = f"the id {name!r} occurs more than once in {both}; ids must be unique"
                    raise CollectionError(msg)
                seen.setdefault(name, number)


def _hash(name: str) -> int:
    return xxh3_64_intdigest(name.encode("utf-8"))


def _id_hashes(output: Output, ordinal: int) -> NDArray[np.uint64]:
    return np.fromiter(map(_hash, _document_ids(output, ordinal)), np.uint64)


def _document_ids(output: Output, ordinal: int) -> list[str]:
    """The ids of the documents of a block, one for each run of chunks."""
    # A document has a chunk 0, whatever else it has; one that repeats right after itself has two.
    return [
        name.removesuffix("#0")
        for batch in output.chunks(ordinal, ("chunk_id",))
        for name in batch.column(0).to_pylist()
        if name.endswith("#0")
    ]


def _sums(records: Sequence[BlockRecord]) -> Indexed:
    names = ("documents", "chunks", "failed", "unreachable", "document_bytes", "chunk_bytes")
    made = Indexed(**{name: sum(getattr(record, name) for record in records) for name in names})
    made.blocks = len(records)
    return made


def _check_failures(records: Sequence[BlockRecord], made: Indexed, allowed: float, out: str) -> None:
    if not made.documents:
        msg = f"{shown(records[0].block.url)} has no documents; a corpus needs at least one"
        raise CollectionError(msg)
    if made.failed + made.unreachable <= allowed * made.documents:
        return
    first = next((record.first_failure for record in records if record.failed), "")
    if first:
        msg = (
            f"{counted(made.failed, 'document', 'documents')} of {made.documents:,} failed, the first at {first}; see "
            f"{out}/chunks/*.failed.jsonl, or allow it with --max-unreachable"
        )
        raise ProgramError(msg)
    first = next(record.first_unreachable for record in records if record.unreachable)
    msg = (
        f"the program leaves {made.unreachable} of {made.documents} documents without any token, the first is {first}; "
        "index at least their titles, or allow it with --max-unreachable"
    )
    raise ProgramError(msg, document_id=first)


class _Clock:
    """Measures stages that follow each other."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._since = time.monotonic()

    def lap(self, stage: str) -> None:
        """End a stage."""
        now = time.monotonic()
        self.seconds[stage], self._since = now - self._since, now
