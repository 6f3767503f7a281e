"""Candidates on their way through stage and evaluation, several at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from autoindex_haystack.errors import ProgramError, SandboxError, SandboxUnavailable
from autoindex_haystack.evaluation import Begun, Evaluation, Evaluator
from autoindex_haystack.optimizer.events import CandidateAtRest, Listener, Phase
from autoindex_haystack.optimizer.recall import Failure, Recall, Tried
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.optimizer.side_by_side import side_by_side
from autoindex_haystack.optimizer.staging import Assessed, Staging
from autoindex_haystack.program import Program
from autoindex_haystack.proposers import Dropped
from autoindex_haystack.sandbox import IsCancelled

T = TypeVar("T")

_SIDE_BY_SIDE_BYTES = 1 << 30
"""Bytes of corpora that may be at work at a time: a large corpus keeps all cores busy with one candidate."""


@dataclass(frozen=True)
class Entry:
    """A program of a batch.

    :param program: The program.
    :param label: What it is, for the listener.
    :param number: Its number in the iteration, from 1.
    """

    program: Program
    label: str
    number: int


class Batch:
    """Evaluates different programs on the validation queries.

    :param evaluator: The evaluator of the collection.
    :param queries: Ids of the validation queries.
    :param staging: Decides which programs are worth the whole corpus.
    :param settings: How the search is done.
    :param listener: Called with events, also from several threads.
    :param entries: The programs.
    :param recall: What is known of them already; what is found out is kept there.
    :param pause: Called before a program is run; may raise to end the search.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        queries: Sequence[str],
        staging: Staging,
        settings: SearchSettings,
        listener: Listener,
        entries: Sequence[Entry],
        *,
        recall: Recall,
        pause: Callable[[], None],
    ) -> None:
        self._evaluator = evaluator
        self._queries = queries
        self._staging = staging
        self._listen = listener
        self._entries = entries
        self._recall = recall
        self._pause = pause
        at_most = _SIDE_BY_SIDE_BYTES // max(1, evaluator.corpus_bytes)
        self._jobs = max(1, min(settings.jobs, len(entries), at_most))
        self._workers = max(1, settings.workers // self._jobs)

    def run(self, iteration: int, prepare: Callable[[], None], take: Callable[[int, Tried], None]) -> None:
        """Evaluate the programs.

        :param iteration: The number of their round.
        :param prepare: Makes the stage ready, where one is in use.
        :param take: Called in this thread, in the order of the programs, with the place of each and what became of it.
        """
        if not self._entries:
            return
        begun = self._begin(iteration, prepare) if self._staging.in_use() else {}
        for i, entry in enumerate(self._entries):
            if begun.get(i) is None and (known := self._recall.unsuccessful(entry.program)):
                begun[i] = known
        side_by_side([partial(self._evaluate, i, begun.get(i)) for i in range(len(self._entries))], self._jobs, take)

    def _begin(self, iteration: int, prepare: Callable[[], None]) -> dict[int, Begun | Dropped | Failure | None]:
        """Run all programs over the stage; returns for each how it goes on, or that it does not."""
        known = self._recall.stage()
        if known is not None:
            # What is to go on is run over everything: of what it made of the stage only the verdict is kept.
            return {i: known[entry.program.sha256] for i, entry in enumerate(self._entries)}
        prepare()
        results: dict[int, Assessed | Failure] = {}
        works = [partial(self._assess, i) for i in range(len(self._entries))]
        side_by_side(works, self._jobs, results.__setitem__)
        assessed = {i: result for i, result in results.items() if isinstance(result, Assessed)}
        dropped = self._staging.decide(assessed)
        ended: dict[int, Dropped | Failure | None] = {
            i: dropped.get(i) if isinstance(result, Assessed) else result for i, result in results.items()
        }
        hashes = [entry.program.sha256 for entry in self._entries]
        self._recall.keep_stage(iteration, {hashes[i]: found for i, found in ended.items()})
        return {i: found or assessed[i].begun for i, found in ended.items()}

    def _assess(self, i: int, cancelled: IsCancelled) -> Assessed | Failure:
        def assess(program: Program, **how: Any) -> Assessed:
            return self._staging.assess(self._evaluator.begin(program, self._queries, self._staging.ordinals, **how))

        return self._attempt(self._entries[i], assess, cancelled)

    def _evaluate(self, i: int, begun: Begun | Dropped | Failure | None, cancelled: IsCancelled) -> Tried:
        if isinstance(begun, Dropped | Failure):
            return begun

        def evaluate(program: Program, **how: Any) -> Evaluation:
            run = partial(self._evaluator.evaluate, program, self._queries, begun=begun, **how)
            return self._recall.evaluation(program, run)

        return self._attempt(self._entries[i], evaluate, cancelled)

    def _attempt(self, entry: Entry, do: Callable[..., T], cancelled: IsCancelled) -> T | Failure:
        """Do something with a program and tell of it; a failure of the program is a result too."""

        def tell(phase: str, done: int, total: int) -> None:
            self._listen(Phase(f"{entry.label}: {phase}", done, total, entry.number))

        self._pause()
        self._listen(Phase(entry.label, candidate=entry.number))
        try:
            return do(entry.program, workers=self._workers, progress=tell, cancelled=cancelled)
        except SandboxUnavailable:
            raise  # This machine's failure, not the program's.
        except (ProgramError, SandboxError) as error:
            return error
        finally:
            self._listen(CandidateAtRest(entry.number))
