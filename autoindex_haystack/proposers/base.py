"""The one seam between the optimizer and whoever suggests programs.

A proposer is a pure function of the state it is given: all its memory is the history, so that a run can be resumed; one
that must remember more is :class:`Remembering`. It never runs a program; it may only ask ``state.check``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from autoindex_haystack.collection import Document, Qrels
from autoindex_haystack.evaluation import Evaluation, PerQuery
from autoindex_haystack.evaluation.diagnosis import Diagnosis
from autoindex_haystack.evaluation.lookup import Lookup
from autoindex_haystack.evaluation.objective import Objective
from autoindex_haystack.program import Program


@dataclass(frozen=True)
class Candidate:
    """A suggested program.

    :param source: The program's source.
    :param idea: One line that says what it does differently.
    :param rationale: Why it should help, with the evidence.
    :param parents: Hashes of the programs it was made from.
    :param simplifies: Whether it only leaves out something of the incumbent, so that losing nothing is enough.
    :param proposer: Who suggests it, where several do; else empty.
    """

    source: str
    idea: str
    rationale: str = ""
    parents: tuple[str, ...] = ()
    simplifies: bool = False
    proposer: str = ""

    @property
    def sha256(self) -> str:
        """The program's hash."""
        return Program(self.source).sha256


@dataclass(frozen=True)
class Dropped:
    """How far a candidate came that was not run over the whole corpus.

    :param documents: Documents that it was run over.
    :param gain: Its objective minus the incumbent's, estimated from them.
    :param error: The standard error of the estimate.
    :param most: What the gain is at most.
    :param certain: Whether it was dropped since ``most`` is too little; else since ``gain`` is.
    :param scores: Query id to metric (Recall@100, nDCG@10, smooth recall) to its estimate.
    :param seconds: Wall-clock time by phase.
    """

    documents: int
    gain: float
    error: float
    most: float
    certain: bool
    scores: PerQuery = field(default_factory=dict, repr=False)
    seconds: dict[str, float] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Outcome:
    """What became of a candidate.

    :param iteration: The iteration in which it was tried, from 1.
    :param candidate: The candidate.
    :param evaluation: Its figures on the validation queries; None when it failed or was dropped.
    :param error: Why it failed, in a sentence; empty otherwise.
    :param gain: Its objective minus the incumbent's of that iteration, an estimate when it was dropped; None when it
        failed.
    :param fixed: Validation queries with a higher objective than under the incumbent.
    :param broken: Validation queries with a lower one.
    :param combined: Whether it combines several improvements of its iteration.
    :param adopted: Whether it became the incumbent.
    :param dropped: How far it came if it was not run over the whole corpus.
    :param refused: Why it may not be adopted though it gains; empty otherwise.
    """

    iteration: int
    candidate: Candidate
    evaluation: Evaluation | None = None
    error: str = ""
    gain: float | None = None
    fixed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    combined: bool = False
    adopted: bool = False
    dropped: Dropped | None = None
    refused: str = ""


@dataclass(frozen=True)
class CollectionView:
    """What a proposer may see of a collection: the corpus and the validation queries, never the held-out ones.

    :param documents: The corpus.
    :param queries: Validation query ids and texts.
    :param qrels: Their judgments.
    :param analyzer: The analyzer of the fixed retriever.
    """

    documents: Sequence[Document]
    queries: Mapping[str, str]
    qrels: Qrels
    analyzer: str


@dataclass(frozen=True)
class ProposerState:
    """Everything that a proposal may depend on.

    :param seed: The run's seed.
    :param iteration: The current iteration, from 1.
    :param number: How many candidates are wanted.
    :param collection: The view of the collection.
    :param incumbent: The best program so far.
    :param evaluation: Its figures and rankings on the validation queries.
    :param baseline: The same of the baseline.
    :param history: All outcomes so far, oldest first.
    :param check: The static check: a program's source to its problems, empty when there are none.
    :param diagnosis: Gives the diagnosis of the incumbent: why relevant documents are missed. The first call takes the
        time of running the incumbent over the corpus. None where it cannot be had.
    :param lookup: Gives an index of the incumbent's chunks to search by hand, open while proposals are made. The first
        call takes the time of running the incumbent over the corpus and indexing. None where it cannot be had.
    :param trial: Runs a program's source over some documents in isolation, after the static check: the error in full,
        empty when there is none. None where it cannot be had.
    :param pause: To be called between steps that take long or cost something; raises when the search shall stop.
    :param note: Keeps a JSON object of evidence in the run folder, for people; nothing comes back from it.
    :param objective: What the search maximizes.
    :param max_growth: How many times the corpus the index text of an accepted program may be; None without a limit.
    """

    seed: int
    iteration: int
    number: int
    collection: CollectionView
    incumbent: Program
    evaluation: Evaluation
    baseline: Evaluation
    history: Sequence[Outcome] = field(default_factory=tuple)
    check: Callable[[str], list[str]] = lambda _: []
    diagnosis: Callable[[], Diagnosis] | None = None
    lookup: Callable[[], Lookup] | None = None
    trial: Callable[[str], str] | None = None
    pause: Callable[[], None] = lambda: None
    note: Callable[[dict[str, Any]], None] = lambda _: None
    objective: Objective = "recall@100"
    max_growth: float | None = None


class SearchEnded(Exception):
    """Raised by a proposer that cannot go on. The search ends with the best program so far.

    :param message: Why.
    :param for_all: Whether another proposer must not go on either, as when a limit of the user's is reached.
    """

    def __init__(self, message: str, *, for_all: bool = False) -> None:
        super().__init__(message)
        self.for_all = for_all


class Proposer(Protocol):
    """Whoever suggests programs."""

    name: str

    def propose(self, state: ProposerState) -> list[Candidate]:
        """Suggest programs to try next.

        :param state: What there is to know.
        :returns: At most ``state.number`` candidates; fewer, or none, when there is nothing left to try.
        :raises SearchEnded: If there will never be any more.
        """
        ...

    def combine(self, state: ProposerState, improvements: Sequence[Outcome]) -> Candidate | None:
        """Join several improvements of one iteration in one program.

        :param state: What there is to know.
        :param improvements: Two or more outcomes, the best first.
        :returns: A candidate, or None when they cannot be joined.
        """
        ...


@runtime_checkable
class Reporting(Protocol):
    """A proposer that has something to tell beside its candidates."""

    def settings(self) -> dict[str, Any]:
        """Returns how it works, as JSON for ``run.json``."""
        ...

    def account(self) -> dict[str, Any]:
        """Returns what it used of language models, as JSON for ``result.json``."""
        ...

    def notes(self) -> list[str]:
        """Returns sentences for the user."""
        ...


@runtime_checkable
class Remembering(Protocol):
    """A proposer that remembers more than the history; a run that is resumed gives it back."""

    def memory(self) -> dict[str, Any]:
        """Returns what it remembers, as JSON."""
        ...

    def remember(self, memory: dict[str, Any]) -> None:
        """Remember what :meth:`memory` returned after the same answer, and nothing else.

        :param memory: It, as JSON gives it back.
        """
        ...
