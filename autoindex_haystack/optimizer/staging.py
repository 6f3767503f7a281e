"""Which candidates are worth the whole of a large corpus, told from a part of it: the stage.

Nothing here depends on what other candidates are doing at the time, only on the round's incumbent and the stage, so
that it is the same whatever the number of jobs.

A candidate is assessed once, after its stage. The bound would stay true while it runs over the rest and could only
fall, but the stage has all judged documents and the rivals that the bound needs: on mdn_webfeatures the most that
Recall@100 can be falls from 0.959 to 0.948 between a tenth of the other documents and all of them for a program that
keeps 20 words of each (it has 0.880), and stays at 1 for whole documents (0.931). A later look would drop next to none.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation import Begun, Evaluation, Evaluator, PerQuery
from autoindex_haystack.evaluation.metrics import ROUNDING
from autoindex_haystack.evaluation.objective import Objective, objective_value
from autoindex_haystack.evaluation.staged import Estimate, Stage, choose_stage, estimate, most_scores, recall_error
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.program import Program
from autoindex_haystack.proposers import Dropped

STAGE_SIZE = 4000
"""Documents of a stage when the user gives no number."""

_SEVERAL = 4
"""How many times larger than the stage a corpus is for which a stage saves time."""

_ERRORS = 2.0
"""Standard errors by which a candidate may be better than its estimate: little is known of it when they are large."""

_SHARE = 0.5
"""Share of a round's candidates that are evaluated on everything at most, those that may be best."""


@dataclass(frozen=True)
class Assessed:
    """A candidate that has run over the stage.

    :param begun: What it made of the stage.
    :param gain: Its objective minus the incumbent's, estimated; no more than ``most``.
    :param error: The standard error of the estimate.
    :param most: What the gain is at most.
    :param scores: Query id to metric to its estimate.
    """

    begun: Begun
    gain: float
    error: float
    most: float
    scores: PerQuery


class Staging:
    """The stage of a search, which is chosen anew for each incumbent.

    :param evaluator: The evaluator of the collection.
    :param queries: Ids of the validation queries.
    :param settings: How the search is done.
    """

    def __init__(self, evaluator: Evaluator, queries: Sequence[str], settings: SearchSettings) -> None:
        collection = evaluator.collection
        self._evaluator = evaluator
        self._settings = settings
        self._texts = {query: collection.queries[query] for query in queries}
        self._qrels = {query: collection.qrels[query] for query in queries}
        self._size = settings.stage_size or STAGE_SIZE
        self._estimates = settings.stage_size != 0
        self._stage: Stage | None = None
        self._incumbent: Evaluation | None = None
        self._estimate: Estimate | None = None
        self._smallest_gain = 0.0

    def in_use(self) -> bool:
        """Whether the corpus is so large that a stage saves time."""
        return len(self._evaluator.collection.documents) >= _SEVERAL * self._size

    def prepare(self, incumbent: Program, evaluation: Evaluation, smallest_gain: float) -> None:
        """Choose the stage for an incumbent and estimate its figures on it, unless that has been done.

        :param incumbent: The program to be beaten.
        :param evaluation: Its evaluation.
        :param smallest_gain: The smallest gain in the objective with which a candidate could be adopted.
        """
        self._smallest_gain = smallest_gain
        if self._incumbent is not None and self._incumbent.program_sha256 == incumbent.sha256:
            return
        judged = [document for grades in self._qrels.values() for document in grades]
        ids = self._evaluator.collection.document_ids
        self._stage = choose_stage(ids, judged, evaluation.rankings, self._size, self._settings.seed)
        begun = self._evaluator.begin(incumbent, list(self._texts), self._stage.ordinals, state=evaluation.state)
        self._incumbent = evaluation
        self._estimate = estimate(begun.reading.postings(), self._stage, self._texts, self._qrels)

    @property
    def ordinals(self) -> NDArray[np.int64]:
        """int64, shape (stage,): the documents of the stage."""
        assert self._stage is not None, "prepare comes first"
        return self._stage.ordinals

    def assess(self, begun: Begun) -> Assessed:
        """Tell from a candidate's chunks of the stage how good it will be.

        :param begun: What it made of the stage.
        :returns: What can be told.
        """
        assert self._stage is not None, "prepare comes first"
        assert self._incumbent is not None
        assert self._estimate is not None
        began = time.monotonic()
        objective = self._settings.objective
        postings = begun.reading.postings()
        found = estimate(postings, self._stage, self._texts, self._qrels)
        bounds = most_scores(postings, self._texts, self._qrels)
        most = _mean(bounds, objective) - _mean(self._incumbent.scores, objective)
        gain = _mean(found.scores, objective) - _mean(self._estimate.scores, objective)
        # Of nDCG@10 the stage has nearly all that matters.
        error = objective_value({"recall@100": recall_error(found, self._estimate), "ndcg@10": 0.0}, objective)
        # What the sample gets wrong it gets wrong for both.
        scores = {
            query: {
                metric: self._incumbent.scores[query][metric] + value - old[metric] for metric, value in new.items()
            }
            for (query, new), old in zip(found.scores.items(), self._estimate.scores.values(), strict=True)
        }
        begun.ran.seconds["stage"] = time.monotonic() - began
        return Assessed(begun, min(gain, most), error, most, scores)

    def decide(self, assessed: Mapping[int, Assessed]) -> dict[int, Dropped]:
        """Choose which candidates of a round are dropped.

        :param assessed: The candidates by their places.
        :returns: The dropped ones.
        """
        lost = {i for i, candidate in assessed.items() if candidate.most < self._smallest_gain - ROUNDING}
        dropped = {i: _dropped(assessed[i], certain=True) for i in lost}
        if self._estimates:
            hopes = {i: assessed[i].gain + _ERRORS * assessed[i].error for i in assessed.keys() - lost}
            ranked = sorted(hopes, key=lambda i: (-hopes[i], i))
            room = math.ceil(_SHARE * len(assessed))
            for rank, i in enumerate(ranked):
                if rank >= room or hopes[i] < 0:
                    dropped[i] = _dropped(assessed[i], certain=False)
        return dropped


def _mean(scores: PerQuery, objective: Objective) -> float:
    return fmean(objective_value(values, objective) for values in scores.values())


def _dropped(candidate: Assessed, *, certain: bool) -> Dropped:
    return Dropped(
        documents=int(candidate.begun.done.sum()),
        gain=candidate.gain,
        error=candidate.error,
        most=candidate.most,
        certain=certain,
        scores=candidate.scores,
        seconds=candidate.begun.ran.seconds,
    )
