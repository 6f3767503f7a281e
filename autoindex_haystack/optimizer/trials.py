"""Evaluating the programs of a search: each once, written down before its figures are used."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from autoindex_haystack.errors import ProgramError, SandboxError, SandboxUnavailable
from autoindex_haystack.evaluation import Evaluation, Evaluator
from autoindex_haystack.evaluation.diagnosis import Diagnosis
from autoindex_haystack.optimizer.events import Listener, Phase
from autoindex_haystack.program import Program
from autoindex_haystack.runs import RunFolder

PHASES = ("propose", "calibrate", "program", "index", "search")
"""Where the time of a search goes."""


class Trials:
    """Evaluates programs on the validation queries.

    :param evaluator: The evaluator of the collection.
    :param queries: Ids of the validation queries.
    :param folder: Where everything is written down.
    :param listener: Called with events.
    """

    def __init__(self, evaluator: Evaluator, queries: Sequence[str], folder: RunFolder, listener: Listener) -> None:
        self._evaluator = evaluator
        self._queries = queries
        self._folder = folder
        self._listen = listener
        self._evaluations: dict[str, Evaluation] = {}
        self._diagnosis: tuple[str, Diagnosis] | None = None
        self.seconds = dict.fromkeys(PHASES, 0.0)

    @property
    def evaluated(self) -> int:
        """How many programs have been evaluated."""
        return len(self._evaluations)

    @property
    def layers(self) -> list[str]:
        """The layers of isolation in force."""
        return list(self._evaluator.layers)

    def evaluate(self, program: Program, label: str) -> Evaluation:
        """Evaluate a program on the validation queries, once.

        :param program: The program.
        :param label: What it is, for the listener.
        :returns: Its evaluation.
        :raises ProgramError: If the program fails.
        """
        if program.sha256 in self._evaluations:
            return self._evaluations[program.sha256]
        self._listen(Phase(label))
        evaluation = self._evaluator.evaluate(
            program,
            self._queries,
            progress=lambda phase, done, total: self._listen(Phase(f"{label}: {phase}", done, total)),
        )
        self._count(evaluation)
        self._folder.add_program(program.source, program.sha256)
        self._folder.append(
            {
                "record": "evaluation",
                "program": program.sha256,
                "metrics": evaluation.metrics,
                "scores": evaluation.scores,
                **{name: getattr(evaluation, name) for name in ("chunks", "chunk_bytes", "growth", "seconds")},
                "unreachable": len(evaluation.unreachable),
            }
        )
        self._evaluations[program.sha256] = evaluation
        return evaluation

    def evaluate_held_out(self, program: Program, validated: Evaluation, queries: Sequence[str]) -> Evaluation:
        """Evaluate a program on the held-out queries, with what it learned before.

        :param program: The program.
        :param validated: Its evaluation on the validation queries.
        :param queries: Ids of the held-out queries.
        :returns: Its evaluation.
        """
        evaluation = self._evaluator.evaluate(program, queries, state=validated.state)
        self._count(evaluation)
        return evaluation

    def check_again(self, program: Program, before: Evaluation) -> None:
        """Run a program over the whole corpus once more and compare.

        :param program: The program.
        :param before: Its evaluation.
        :raises ProgramError: If its output is another one.
        """
        with self.timed("program"):
            self._evaluator.check_again(program, before)

    def diagnose(self, program: Program, evaluation: Evaluation) -> Diagnosis:
        """Find out why documents are missed under a program; what was found out last is kept.

        :param program: The program.
        :param evaluation: Its evaluation.
        :returns: The diagnosis.
        """
        if self._diagnosis is None or self._diagnosis[0] != program.sha256:
            self._listen(Phase("why documents are missed"))
            found = self._evaluator.diagnose(program, self._queries, state=evaluation.state)
            self._diagnosis = program.sha256, found
        return self._diagnosis[1]

    def failed(self, program: Program, error: ProgramError | SandboxError) -> None:
        """Write a failure down.

        :param program: The program.
        :param error: Why it failed.
        :raises SandboxUnavailable: If it is this machine's failure and not the program's.
        """
        if isinstance(error, SandboxUnavailable):
            raise error
        self._folder.append({"record": "failure", "program": program.sha256, "error": str(error)})

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Count the time of the body."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[phase] += time.monotonic() - began

    def _count(self, evaluation: Evaluation) -> None:
        for phase, seconds in evaluation.seconds.items():
            self.seconds[phase] += seconds
