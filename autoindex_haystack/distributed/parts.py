"""The index of a job: parts built side by side over ranges of blocks, then joined into one or kept."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from autoindex_haystack.distributed.filesystem import Folder
from autoindex_haystack.distributed.index_process import in_own_process, is_finished
from autoindex_haystack.distributed.output import INDEX, PARTS, SHARDS, BlockRecord, Job
from autoindex_haystack.retrieval import get_backend


class Part(NamedTuple):
    """A part of the index.

    :param folder: Its folder within the job's.
    :param blocks: The ordinals of its blocks, consecutive.
    :param first: How many chunks the parts before it have; None for an index that has no parts.
    """

    folder: str
    blocks: tuple[int, ...]
    first: int | None


def plan_parts(records: Sequence[BlockRecord], job: Job, workers: int) -> list[Part]:
    """Cut the blocks into parts with about as many chunks each.

    :param records: What the blocks have, in order.
    :param job: The job.
    :param workers: How many parts can be built side by side, where they are merged afterwards.
    :returns: The parts, none of them without a block.
    """
    assert job.backend
    if not get_backend(job.backend).joins_parts:
        return [Part(INDEX, tuple(record.block.ordinal for record in records), None)]
    count = min(job.shards or workers, len(records))
    total = sum(record.chunks for record in records)
    groups: list[list[int]] = [[] for _ in range(count)]
    firsts, done = [0] * count, 0
    for i, record in enumerate(records):
        # Where the middle of the block falls, but no part is left without a block.
        at = min(count - 1, int((done + record.chunks / 2) * count / total)) if total else i * count // len(records)
        open_ = max((g for g in range(count) if groups[g]), default=-1)
        at = max(open_, min(at, open_ + 1), count - (len(records) - i), 0)
        if not groups[at]:
            firsts[at] = done
        groups[at].append(record.block.ordinal)
        done += record.chunks
    place = SHARDS if job.shards else PARTS
    return [
        Part(f"{place}/{i:04d}-of-{count:04d}", tuple(blocks), first)
        for i, (blocks, first) in enumerate(zip(groups, firsts, strict=True))
    ]


class BuildPart:
    """Builds a part of the index, in a process of its own.

    :param url: The job's folder.
    :param job: The job.
    """

    waits: ClassVar[bool] = True

    def __init__(self, url: str, job: Job) -> None:
        self._url, self._job = url, job

    def start(self) -> None:
        """Nothing is kept between parts."""

    def __call__(self, part: Part) -> dict[str, Any]:
        folder = Folder(self._url) / part.folder
        if not is_finished(folder):
            folder.remove()
            in_own_process(
                {
                    "do": "build",
                    "url": self._url,
                    "folder": part.folder,
                    "blocks": part.blocks,
                    "first": part.first,
                    "backend": self._job.backend,
                    "bm25": self._job.bm25.model_dump(mode="json"),
                }
            )
        return {"folder": part.folder}

    def close(self) -> None:
        """Nothing is kept between parts."""


def merge_parts(url: str, job: Job, parts: Sequence[Part]) -> None:
    """Join the parts into the index, in a process of its own, and remove them.

    :param url: The job's folder.
    :param job: The job.
    :param parts: The parts, in order.
    """
    folder, names = Folder(url), [part.folder for part in parts]
    (folder / INDEX).remove()
    in_own_process({"do": "merge", "url": url, "folder": INDEX, "parts": names, "backend": job.backend})
    (folder / PARTS).remove()
