"""What a run knows of its programs already, so that a search that goes on does none of it again."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from autoindex_haystack.errors import ProgramError, SandboxError
from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.program import Program
from autoindex_haystack.proposers import Dropped
from autoindex_haystack.runs import Evaluations, RunFolder

Failure = ProgramError | SandboxError
Tried = Evaluation | Dropped | Failure
"""What became of a program: its evaluation, how far it came, or why it failed."""


class Recall:
    """The memory of one run. :meth:`evaluation` may be used from several threads, for different programs.

    :param folder: The run folder.
    :param evaluations: Its evaluations.
    """

    def __init__(self, folder: RunFolder, evaluations: Evaluations) -> None:
        self._folder = folder
        self._evaluations = evaluations

    def evaluation(
        self, program: Program, evaluate: Callable[[], Evaluation], *, queries: str = "validation"
    ) -> Evaluation:
        """Give an evaluation back, or make it and keep it.

        :param program: The program.
        :param evaluate: Makes it.
        :param queries: Which queries it is of.
        :returns: The evaluation, which is on disk.
        """
        found = self._evaluations.load(program.sha256, queries)
        if found is None:
            found = evaluate()
            self._evaluations.save(found, queries)
        return found

    def unsuccessful(self, program: Program) -> Dropped | Failure | None:
        """Look whether a program that comes next was dropped or has failed; None when that is not known.

        :param program: The program.
        """
        record = self._folder.journal.ahead(("dropped", "failure"), program.sha256, ("decision", "checked"))
        return _read(record) if record else None

    def stage(self) -> dict[str, Dropped | Failure | None] | None:
        """Give back what became on the stage of the programs that come next, by their hashes.

        :returns: Those that go on have None; None in all when it is not known.
        """
        record = self._folder.journal.recall("stage")
        if record is None:
            return None
        programs, seconds = record["programs"], record["seconds"]
        return {
            sha256: _read({**found, "seconds": seconds[sha256]}) if found else None
            for sha256, found in programs.items()
        }

    def keep_stage(self, iteration: int, found: Mapping[str, Dropped | Failure | None]) -> None:
        """Write down what became of programs on the stage.

        :param iteration: The iteration.
        :param found: Their hashes to why they go no further; None for those that go on.
        """
        programs = {sha256: _written(what) if what else None for sha256, what in found.items()}
        seconds = {sha256: (written or {}).pop("seconds", {}) for sha256, written in programs.items()}
        self._folder.append({"record": "stage", "iteration": iteration, "programs": programs, "seconds": seconds})


def _written(found: Dropped | Failure) -> dict[str, Any]:
    return asdict(found) if isinstance(found, Dropped) else {"error": str(found)}


def _read(record: Mapping[str, Any]) -> Dropped | Failure:
    if "documents" not in record:
        return ProgramError(record["error"])
    return Dropped(**{name: value for name, value in record.items() if name in Dropped.__dataclass_fields__})
