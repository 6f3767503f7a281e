"""What an evaluation says, and one that is not done yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation.metrics import OBJECTIVE, PerQuery
from autoindex_haystack.evaluation.readings import ChunkReading
from autoindex_haystack.evaluation.running import Ran


@dataclass(frozen=True)
class Evaluation:
    """What a program achieved on a set of queries.

    :param program_sha256: The program's hash.
    :param scores: Query id to metric to value.
    :param metrics: Metric to mean over the queries.
    :param chunks: Number of chunks.
    :param chunk_bytes: Their size in bytes of UTF-8.
    :param growth: ``chunk_bytes`` relative to the titles and texts of the corpus.
    :param unreachable: Ids of documents that had a token but have none in any chunk, so that no query finds them.
    :param state: What the program learned from the corpus.
    :param rankings: Query id to the best documents' ids and scores.
    :param seconds: Wall-clock time by phase.
    :param calibrate_seconds: What calibrating takes the program, which may have been done for another one before; that
        in ``seconds`` when not given.
    :param digests: uint64, shape (documents,): a hash of each document's chunks.
    :param isolation: The layers of isolation under which it ran.
    """

    program_sha256: str
    scores: PerQuery
    metrics: dict[str, float]
    chunks: int
    chunk_bytes: int
    growth: float
    unreachable: tuple[str, ...]
    state: dict[str, Any]
    rankings: Mapping[str, list[tuple[str, float]]]
    seconds: dict[str, float] = field(default_factory=dict)
    calibrate_seconds: float | None = None
    digests: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64), repr=False, compare=False)
    isolation: tuple[str, ...] = ()

    @property
    def indexing_seconds(self) -> float:
        """Wall-clock time that indexing with this program alone takes, calibrating included."""
        calibrate = self.seconds.get("calibrate", 0.0) if self.calibrate_seconds is None else self.calibrate_seconds
        return calibrate + self.seconds.get("program", 0.0)

    @property
    def objective(self) -> float:
        """Mean Recall@100, what the search maximizes."""
        return self.metrics[OBJECTIVE]


@dataclass(frozen=True)
class Begun:
    """A program that has run over a part of the corpus, and may go on.

    :param queries: Ids of the queries that it is to be scored on.
    :param reading: What takes its chunks; it has those of that part.
    :param done: bool, shape (documents,): the part.
    :param ran: What it learned from the whole corpus, what it has used of its limits, and the time by phase.
    """

    queries: tuple[str, ...]
    reading: ChunkReading
    done: NDArray[np.bool_]
    ran: Ran
