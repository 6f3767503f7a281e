"""Evaluating the programs of a search: each once, written down before its figures are used."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict

from autoindex_haystack.errors import Interrupted, ProgramError, SandboxError, SandboxUnavailable
from autoindex_haystack.evaluation import Evaluation, Evaluator
from autoindex_haystack.evaluation.diagnosis import Diagnosis
from autoindex_haystack.evaluation.lookup import Lookup
from autoindex_haystack.optimizer.batch import Batch, Entry
from autoindex_haystack.optimizer.events import Listener, Phase
from autoindex_haystack.optimizer.recall import Failure, Recall, Tried
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.optimizer.staging import Staging
from autoindex_haystack.program import Program
from autoindex_haystack.proposers import Dropped
from autoindex_haystack.runs import Evaluations, ProgramEvidence, RunFolder

PHASES = ("propose", "diagnose", "calibrate", "program", "stage", "scan", "score", "check again")
"""Where the time of a search goes. That of candidates side by side adds up."""


class Trials:
    """Evaluates programs on the validation queries.

    :param evaluator: The evaluator of the collection.
    :param queries: Ids of the validation queries.
    :param folder: Where everything is written down.
    :param settings: How the search is done.
    :param listener: Called with events, also from several threads.
    :param stop: Asked between steps whether the search shall stop.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        queries: Sequence[str],
        folder: RunFolder,
        settings: SearchSettings,
        listener: Listener,
        stop: Callable[[], bool],
    ) -> None:
        self._evaluator = evaluator
        self._queries = queries
        self._folder = folder
        self._settings = settings
        self._listen = listener
        self._stop = stop
        self._recall = Recall(folder, Evaluations(folder.path, evaluator.collection.document_ids))
        self._evaluations: dict[str, Evaluation] = {}
        self.staging = Staging(evaluator, queries, settings)
        self._diagnosis: tuple[str, Diagnosis] | None = None
        self._lookup: Lookup | None = None
        self.seconds = dict.fromkeys(PHASES, 0.0)

    @property
    def evaluations(self) -> list[Evaluation]:
        """All evaluations, the baseline's first."""
        return list(self._evaluations.values())

    @property
    def evaluated(self) -> int:
        """How many programs have been evaluated."""
        return len(self._evaluations)

    @property
    def layers(self) -> list[str]:
        """The layers of isolation in force."""
        known = (evaluation.isolation for evaluation in reversed(self.evaluations) if evaluation.isolation)
        return list(self._evaluator.layers or next(known, ()))

    def pause(self) -> None:
        """End the search here if that is wished; called between steps.

        :raises Interrupted: If it is.
        """
        if self._stop():
            msg = f"interrupted; go on with `autoindex optimize --resume {self._folder.path}`"
            raise Interrupted(msg)

    def evaluate(self, program: Program, label: str) -> Evaluation:
        """Evaluate a program on the validation queries with all workers, and write it down.

        :param program: The program.
        :param label: What it is, for the listener.
        :returns: Its evaluation.
        :raises ProgramError: If the program fails.
        """
        self._listen(Phase(label))
        evaluation = self._recall.evaluation(
            program,
            lambda: self._evaluator.evaluate(
                program,
                self._queries,
                progress=lambda phase, done, total: self._listen(Phase(f"{label}: {phase}", done, total)),
            ),
        )
        self.keep(program, evaluation)
        return evaluation

    def evaluate_all(
        self,
        programs: Sequence[Program],
        iteration: int,
        numbers: Sequence[int],
        prepare: Callable[[], None],
        take: Callable[[int, Tried], None],
    ) -> None:
        """Evaluate the programs of a round, several at a time, each program once in a search.

        :param programs: The programs.
        :param iteration: The number of the round.
        :param numbers: The programs' numbers in it.
        :param prepare: Makes the stage ready, where one is in use.
        :param take: Called in this thread, in the order of the programs, with the place of each in ``programs`` and
            what became of it; it has to :meth:`keep` that.
        """
        found: dict[str, Tried] = dict(self._evaluations)
        entries: dict[str, Entry] = {}
        for program, number in zip(programs, numbers, strict=True):
            if program.sha256 not in found:
                label = f"iteration {iteration}, candidate {number}"
                entries.setdefault(program.sha256, Entry(program, label, number))
        new, waiting = list(entries), deque(enumerate(programs))

        def take_what_is_known() -> None:
            while waiting and waiting[0][1].sha256 in found:
                i, program = waiting.popleft()
                take(i, found[program.sha256])

        def take_new(place: int, tried: Tried) -> None:
            found[new[place]] = tried
            take_what_is_known()

        take_what_is_known()
        batch = Batch(
            self._evaluator,
            self._queries,
            self.staging,
            self._settings,
            self._listen,
            list(entries.values()),
            recall=self._recall,
            pause=self.pause,
        )
        batch.run(iteration, prepare, take_new)

    def keep(self, program: Program, tried: Tried) -> None:
        """Write down what became of a program, before it is used.

        :param program: The program.
        :param tried: Its evaluation, how far it came, or its failure.
        """
        if isinstance(tried, Failure):
            self._folder.append({"record": "failure", "program": program.sha256, "error": str(tried)})
            return
        if isinstance(tried, Dropped):
            self._count(tried)
            self._folder.append({"record": "dropped", "program": program.sha256, **asdict(tried)})
            return
        if program.sha256 in self._evaluations:
            return
        self._count(tried)
        self._folder.add_program(program.source, program.sha256)
        self._folder.append(
            {
                "record": "evaluation",
                "program": program.sha256,
                "metrics": tried.metrics,
                "scores": tried.scores,
                **{
                    name: getattr(tried, name)
                    for name in ("chunks", "chunk_bytes", "growth", "seconds", "calibrate_seconds")
                },
                "unreachable": len(tried.unreachable),
            }
        )
        self._evaluations[program.sha256] = tried

    def evaluate_held_out(self, program: Program, validated: Evaluation, queries: Sequence[str]) -> Evaluation:
        """Evaluate a program on the held-out queries, with what it learned before.

        :param program: The program.
        :param validated: Its evaluation on the validation queries.
        :param queries: Ids of the held-out queries.
        :returns: Its evaluation.
        """
        evaluation = self._recall.evaluation(
            program, lambda: self._evaluator.evaluate(program, queries, state=validated.state), queries="held-out"
        )
        figures = {"metrics": evaluation.metrics, "scores": evaluation.scores}
        self._folder.append({"record": "held-out", "program": program.sha256, **figures})
        self._count(evaluation)
        return evaluation

    def check_again(self, program: Program, before: Evaluation) -> None:
        """Run a program over the whole corpus once more and compare.

        :param program: The program.
        :param before: Its evaluation.
        :raises ProgramError: If its output is another one.
        :raises SandboxUnavailable: If this machine cannot isolate it as asked.
        """
        record = self._folder.journal.recall("checked")
        if record is None:
            self.pause()
            error = ""
            with self.timed("check again") as taken:
                try:
                    self._evaluator.check_again(program, before)
                except SandboxUnavailable:
                    raise
                except (ProgramError, SandboxError) as found:
                    error = str(found)
            record = {"record": "checked", "program": program.sha256, "error": error, "seconds": taken}
            self._folder.append(record)
        else:
            self.add_seconds(record["seconds"])
        if record["error"]:
            raise ProgramError(record["error"])

    def diagnose(self, program: Program, evaluation: Evaluation) -> Diagnosis:
        """Find out why documents are missed under a program, and write it down; what was found out last is kept.

        :param program: The program.
        :param evaluation: Its evaluation.
        :returns: The diagnosis.
        """
        if self._diagnosis is None or self._diagnosis[0] != program.sha256:
            self._listen(Phase("why documents are missed"))
            with self.timed("diagnose"):
                found = self._evaluator.diagnose(program, self._queries, before=evaluation)
                ProgramEvidence.of(program.sha256, found).save(self._folder.path)
            self._diagnosis = program.sha256, found
        return self._diagnosis[1]

    def explain(self, program: Program, evaluation: Evaluation) -> None:
        """See that the run folder tells why documents are missed under a program, unless it fails when it is run again.

        :param program: The program.
        :param evaluation: Its evaluation.
        """
        if not ProgramEvidence.is_known(self._folder.path, program.sha256):
            with suppress(ProgramError, SandboxError):
                self.diagnose(program, evaluation)

    def look_up(self, program: Program, evaluation: Evaluation) -> Lookup:
        """Open an index of a program's chunks; it stays open until :meth:`close_lookup`.

        :param program: The program.
        :param evaluation: Its evaluation.
        :returns: The index.
        """
        if self._lookup is None:
            self._listen(Phase("indexing to look things up"))
            self._lookup = self._evaluator.look_up(program, state=evaluation.state)
        return self._lookup

    def close_lookup(self) -> None:
        """Close what :meth:`look_up` opened."""
        if self._lookup is not None:
            self._lookup.close()
            self._lookup = None

    def try_out(self, source: str) -> str:
        """Run a program over some documents.

        :param source: Its source.
        :returns: The error in full, with the program's own traceback; empty when there is none.
        """
        try:
            self._evaluator.try_out(Program(source))
        except ProgramError as error:
            return str(error)
        return ""

    @contextmanager
    def timed(self, phase: str) -> Iterator[dict[str, float]]:
        """Count the time of the body, without that of phases within it.

        :param phase: What it is.
        :returns: A context manager whose dictionary, when it ends, has the time of the body by phase.
        """
        began, before = time.monotonic(), dict(self.seconds)
        taken: dict[str, float] = {}
        try:
            yield taken
        finally:
            within = sum(self.seconds.values()) - sum(before.values())
            self.seconds[phase] += time.monotonic() - began - within
            taken |= {name: more for name, seconds in self.seconds.items() if (more := seconds - before[name])}

    def add_seconds(self, taken: Mapping[str, float]) -> None:
        """Count what was done before the search was interrupted.

        :param taken: The time by phase.
        """
        for phase, seconds in taken.items():
            self.seconds[phase] += seconds

    def _count(self, tried: Evaluation | Dropped) -> None:
        self.add_seconds(tried.seconds)
