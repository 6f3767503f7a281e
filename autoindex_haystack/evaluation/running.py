"""Running programs over one corpus, always under the same limits and with the same workers."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.collection import Collection
from autoindex_haystack.errors import ProgramError
from autoindex_haystack.evaluation.calibrations import Calibrations, Learned
from autoindex_haystack.program import Program, what_calibrate_reaches
from autoindex_haystack.sandbox import (
    Block,
    DocumentFile,
    IsCancelled,
    Isolation,
    Limits,
    ProgramRunner,
    Spent,
    check_same_output,
    check_stability,
    imported_ahead,
)

Progress = Callable[[str, int, int], None]
"""Called with the name of the phase, how much of it is done and how much there is."""

LearnedApart = Callable[[str], Mapping[str, str]]
"""From a program to programs that each learn one thing of what it learns, by the key of its state; empty when unknown.
"""

_TRIAL_DOCUMENTS = 200
_TRIAL_SECONDS = 60.0
"""What a trial run of a program looks at, and how long it may take."""


@dataclass(frozen=True)
class Ran:
    """What a run of a program over documents gave beside its chunks.

    :param learned: What the program learned before, and what that costs.
    :param spent: What it has used of its limits.
    :param seconds: Wall-clock time by phase; that of ``calibrate`` is short when another program had learned the same.
    """

    learned: Learned
    spent: Spent
    seconds: dict[str, float]


class CorpusRunner:
    """Runs programs over one corpus. Close it after use.

    :param collection: The collection.
    :param limits: What a program may use and return.
    :param workers: Worker processes a program.
    :param allowed_imports: Modules that programs may import beside the usual ones.
    :param key: Key of the opaque ids that programs see; fresh when not given.
    :param isolation: ``full``, or ``process-only`` for workers that the kernel does not lock.
    :param learned_apart: Takes what a program learns apart.
    """

    def __init__(
        self,
        collection: Collection,
        *,
        limits: Limits,
        workers: int,
        allowed_imports: Sequence[str],
        key: bytes | None,
        isolation: Isolation,
        learned_apart: LearnedApart | None = None,
    ) -> None:
        self._collection = collection
        self._limits = limits
        self._workers = workers
        self._allowed_imports = tuple(allowed_imports)
        self._key = key
        self._isolation: Isolation = isolation
        self._learned_apart = learned_apart
        self._failed: set[str] = set()
        self._documents = DocumentFile(collection.documents)
        self._calibrations = Calibrations()
        self.layers: tuple[str, ...] = ()

    def run(
        self,
        program: Program,
        take: Callable[[Block], object],
        ordinals: Sequence[int],
        *,
        state: Mapping[str, Any] | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> Ran:
        """Run a program over documents and hand out the blocks.

        :param program: The program.
        :param take: Called with each block that is done.
        :param ordinals: The documents.
        :param state: What it learned before; without it, it calibrates on the corpus, unless another program has
            learned what it can only learn too.
        :param workers: Worker processes, when it shall be another number than the usual one.
        :param progress: Called as the work goes on.
        :param cancelled: Asked several times a second whether the work shall be called off.
        :returns: What it learned and used.
        :raises ProgramError: If the program fails or breaks a limit.
        :raises Cancelled: If it was called off.
        """
        program.check(self._allowed_imports)
        began = time.monotonic()
        known = dict(state) if state is not None else None
        with self._runner(program, known, workers, cancelled) as runner:
            if known is None:
                learned = self._learn(program, runner, workers, cancelled)
                runner.state = learned.state
            else:
                learned = Learned(known, 0.0)
            calibrated = time.monotonic()
            check_stability(
                program,
                self._collection.documents,
                state=learned.state,
                limits=self._limits,
                allowed_imports=self._allowed_imports,
                isolation=self._isolation,
                cancelled=cancelled,
            )
            spent = runner.stream(take, ordinals=ordinals, progress=_told(progress, 0, len(ordinals)))
            self.layers = runner.layers
        return Ran(learned, spent, {"calibrate": calibrated - began, "program": time.monotonic() - calibrated})

    def go_on(
        self,
        program: Program,
        take: Callable[[Block], object],
        left: Sequence[int],
        ran: Ran,
        *,
        workers: int | None = None,
        progress: Progress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> Ran:
        """Run a program that has run over a part of the corpus over the rest of it.

        :param program: The program.
        :param take: Called with each block that is done.
        :param left: The documents that are left.
        :param ran: What its run over the others gave.
        :param workers: Worker processes, when it shall be another number than the usual one.
        :param progress: Called as the work goes on.
        :param cancelled: Asked several times a second whether the work shall be called off.
        :returns: What it used over all documents.
        :raises ProgramError: If the program fails or breaks a limit.
        :raises Cancelled: If it was called off.
        """
        began, count = time.monotonic(), len(self._documents)
        with self._runner(program, ran.learned.state, workers, cancelled) as runner:
            tell = _told(progress, count - len(left), count)
            spent = runner.stream(take, ordinals=left, before=ran.spent, progress=tell)
        seconds = {**ran.seconds, "program": ran.seconds["program"] + time.monotonic() - began}
        return replace(ran, spent=spent, seconds=seconds)

    def check_again(
        self,
        program: Program,
        state: dict[str, Any],
        digests: NDArray[np.uint64],
        digest: Callable[[Block], NDArray[np.uint64]],
    ) -> None:
        """Run a program over the whole corpus once more under other circumstances, and compare; it calibrates anew.

        :param program: The program.
        :param state: What it learned.
        :param digests: uint64, shape (documents,): what ``digest`` gave for its output.
        :param digest: Makes a hash of each document of a block.
        :raises ProgramError: If it learns or returns something else; the message shows the first such document.
        """
        check_same_output(
            program,
            self._documents,
            digests,
            state=state,
            limits=self._limits,
            workers=self._workers,
            allowed_imports=self._allowed_imports,
            isolation=self._isolation,
            digest=digest,
        )

    def try_out(self, program: Program) -> None:
        """Run a program over some documents, to find most faults in a moment.

        It calibrates on them, and its output must not depend on circumstances.

        :param program: The program.
        :raises ProgramError: If it fails.
        """
        program.check(self._allowed_imports)
        documents = self._collection.documents
        limits = replace(self._limits, seconds=min(_TRIAL_SECONDS, self._limits.seconds), corpus_growth=None)
        how: dict[str, Any] = {"limits": limits, "allowed_imports": self._allowed_imports}
        how["isolation"] = self._isolation
        sample = documents[:: max(1, len(documents) // _TRIAL_DOCUMENTS)][:_TRIAL_DOCUMENTS]
        with DocumentFile(sample) as file, ProgramRunner(program, file, **how) as runner:
            learned = runner.calibrate()
        check_stability(program, documents, state=learned, **how)

    def close(self) -> None:
        """Release the document file."""
        self._documents.close()

    def _learn(
        self, program: Program, runner: ProgramRunner, workers: int | None, cancelled: IsCancelled | None
    ) -> Learned:
        """What a program learns, thing by thing where it can be taken apart."""
        found = self._learn_apart(program, workers, cancelled)
        if found is None:
            return self._calibrations.learn(calibration_key(program), runner.calibrate, cancelled or _never)
        return found

    def _learn_apart(self, program: Program, workers: int | None, cancelled: IsCancelled | None) -> Learned | None:
        """What a program learns, each thing by itself; None where the whole has to show what becomes of it.

        The seconds are at most too many: what several things depend on is learned for each.
        """
        parts = self._learned_apart(program.source) if self._learned_apart else {}
        found: dict[str, Learned] = {}
        for name, source in parts.items():
            part = Program(source, program.name)
            key, calibrate = calibration_key(part), partial(self._calibrate, part, workers, cancelled)
            if key in self._failed:
                return None
            try:
                found[name] = self._calibrations.learn(key, calibrate, cancelled or _never)
            except ProgramError:
                # The program fails for itself: the message names its own lines.
                self._failed.add(key)
                return None
        state = {name: found[name].state[name] for name in sorted(found)}
        seconds = sum(learned.seconds for learned in found.values())
        # The limits are those of a program, not of each of its parts.
        within = seconds <= self._limits.seconds and len(json.dumps(state).encode()) <= self._limits.state_bytes
        return Learned(state, seconds) if found and within else None

    def _calibrate(self, program: Program, workers: int | None, cancelled: IsCancelled | None) -> dict[str, Any]:
        with self._runner(program, None, workers, cancelled) as runner:
            return runner.calibrate()

    def _runner(
        self, program: Program, state: dict[str, Any] | None, workers: int | None, cancelled: IsCancelled | None
    ) -> ProgramRunner:
        return ProgramRunner(
            program,
            self._documents,
            state=state,
            limits=self._limits,
            workers=workers or self._workers,
            allowed_imports=self._allowed_imports,
            key=self._key,
            isolation=self._isolation,
            cancelled=cancelled,
        )


def calibration_key(program: Program) -> str:
    """Returns the same for programs that can only learn the same from the same documents.

    :param program: The program.
    """
    reached = what_calibrate_reaches(program.source)
    if reached is None:
        return program.sha256
    # A worker's own modules are imported ahead by the words of the source; later imports may fail.
    return hashlib.sha256(f"{imported_ahead(program.source)}\n{reached}".encode("utf-8", "surrogatepass")).hexdigest()


def _told(progress: Progress | None, before: int, total: int) -> Callable[[int], None] | None:
    """What the runner calls: documents were done before that it does not count."""
    return (lambda done: progress("documents", before + done, total)) if progress else None


def _never() -> bool:
    return False
