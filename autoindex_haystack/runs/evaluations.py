"""The evaluations of a run on disk, whole, so that a search that goes on need not repeat them.

One file a program, under the program's hash: a NumPy archive in a Zstandard frame with a checksum.
"""

import io
import json
import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.evaluation.rankings import NamedRankings
from autoindex_haystack.files import atomic_file
from autoindex_haystack.retrieval import Ranking

EVALUATIONS = "evaluations"
"""The folder in a run folder."""

_LEVEL = 3
_APART = ("program_sha256", "rankings", "digests")
_ARRAYS = ("ordinals", "scores", "lengths", "digests")


class Evaluations:
    """The evaluations of one run. Usable from several threads, for different programs.

    :param run: The run folder.
    :param document_ids: The ids of the documents of its collection.
    """

    def __init__(self, run: Path, document_ids: Sequence[str]) -> None:
        self._run = run
        self._ids = document_ids

    def save(self, evaluation: Evaluation, queries: str = "validation") -> None:
        """Keep an evaluation; it is on disk when this returns.

        :param evaluation: The evaluation.
        :param queries: Which queries it is of.
        """
        rankings = evaluation.rankings
        assert isinstance(rankings, NamedRankings)
        kept = list(rankings.arrays.values())
        told = {part.name: getattr(evaluation, part.name) for part in fields(evaluation) if part.name not in _APART}
        buffer = io.BytesIO()
        np.savez(
            buffer,
            told=np.frombuffer(json.dumps(told, allow_nan=False).encode("ascii"), np.uint8),
            ordinals=np.concatenate([np.empty(0, np.int64), *(ordinals for ordinals, _ in kept)]),
            scores=np.concatenate([np.empty(0, np.float32), *(scores for _, scores in kept)]),
            lengths=np.array([len(ordinals) for ordinals, _ in kept], np.int64),
            digests=evaluation.digests,
        )
        packed = zstandard.ZstdCompressor(_LEVEL, write_checksum=True).compress(buffer.getvalue())
        with atomic_file(self._path(evaluation.program_sha256, queries)) as temporary, temporary.open("wb") as file:
            file.write(packed)
            file.flush()
            os.fsync(file.fileno())

    def load(self, program_sha256: str, queries: str = "validation") -> Evaluation | None:
        """Give back an evaluation.

        :param program_sha256: The program's hash.
        :param queries: Which queries it is of.
        :returns: It is as it was saved; None when there is none, or its file is damaged: evaluating again does no harm.
        """
        try:
            packed = self._path(program_sha256, queries).read_bytes()
            with np.load(io.BytesIO(zstandard.ZstdDecompressor().decompress(packed)), allow_pickle=False) as archive:
                told: dict[str, Any] = json.loads(archive["told"].tobytes())
                ordinals, scores, lengths, digests = (archive[name] for name in _ARRAYS)
        except (OSError, ValueError, KeyError, zstandard.ZstdError):
            return None
        ends = np.cumsum(lengths)[:-1]
        pieces = zip(np.split(ordinals, ends), np.split(scores, ends), strict=True) if len(lengths) else ()
        rankings = [Ranking(found, values, found) for found, values in pieces]
        return Evaluation(
            program_sha256=program_sha256,
            rankings=NamedRankings(list(told["scores"]), rankings, self._ids),
            digests=digests,
            **{**told, "unreachable": tuple(told["unreachable"]), "isolation": tuple(told["isolation"])},
        )

    def _path(self, program_sha256: str, queries: str) -> Path:
        return self._run / EVALUATIONS / queries / f"{program_sha256}.npz.zst"
