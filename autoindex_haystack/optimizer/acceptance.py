"""Which candidates may become the incumbent: the paper's rule and the guarded one.

Both are asked twice in a round: which candidates are promising, so that a combination is tried of them, and then which
of all that were tried may be adopted. Rounds are decided in order, each once; equal outcomes give equal decisions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from autoindex_haystack.evaluation import Evaluation, studentized
from autoindex_haystack.evaluation.objective import evidence_differences
from autoindex_haystack.optimizer.luck import LuckTest
from autoindex_haystack.optimizer.selection import improvements
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.proposers import Outcome

_NDCG_LEVEL = 0.05
"""A one-sided test at this level tells whether nDCG@10 is worse."""


@dataclass(frozen=True)
class Verdict:
    """What a rule says of a promising candidate.

    :param outcome: The candidate's outcome.
    :param reason: Why it must not be adopted; empty when it may.
    :param p_value: The share of runs without any real change that let something pass by luck up to now, if as much as
        this candidate shows were enough; None where no test was made.
    :param allowed: What that share may be.
    :param statistic: Student's t of the tested differences.
    :param mark: What it has to exceed.
    """

    outcome: Outcome
    reason: str = ""
    p_value: float | None = None
    allowed: float | None = None
    statistic: float | None = None
    mark: float | None = None

    @property
    def accepted(self) -> bool:
        """Whether it may be adopted."""
        return not self.reason

    def as_json(self) -> dict[str, Any]:
        """Returns the verdict as it is written down."""
        return {
            "program": self.outcome.candidate.sha256,
            "accepted": self.accepted,
            "reason": self.reason,
            "p_value": self.p_value,
            "allowed": self.allowed,
        }


class Acceptance(Protocol):
    """A rule of acceptance, for one run."""

    def promising(self, outcomes: Sequence[Outcome], incumbent: Evaluation) -> list[Outcome]:
        """Find the candidates that are worth being combined, the best first.

        :param outcomes: The outcomes of a round so far.
        :param incumbent: The incumbent's evaluation.
        """
        ...

    def decide(self, iteration: int, outcomes: Sequence[Outcome], incumbent: Evaluation) -> list[Verdict]:
        """Decide a round.

        :param iteration: Its number, from 1.
        :param outcomes: All its outcomes, the combination's among them.
        :param incumbent: The incumbent's evaluation.
        :returns: A verdict on each candidate that gains enough, the best first.
        """
        ...

    def smallest_gain(self) -> float:
        """The smallest gain in the mean objective over the incumbent with which a candidate could pass.

        A candidate that cannot reach it any more need not be evaluated to its end.
        """
        ...


class PaperAcceptance:
    """The rule of the paper: any gain of at least the tolerance counts, however many candidates were tried.

    :param settings: How the search is done.
    """

    def __init__(self, settings: SearchSettings) -> None:
        self._settings = settings

    def promising(self, outcomes: Sequence[Outcome], incumbent: Evaluation) -> list[Outcome]:
        """See :class:`Acceptance`."""
        return improvements(outcomes, self._settings.tolerance, self._settings.objective)

    def decide(self, iteration: int, outcomes: Sequence[Outcome], incumbent: Evaluation) -> list[Verdict]:
        """See :class:`Acceptance`."""
        return [Verdict(outcome) for outcome in self.promising(outcomes, incumbent)]

    def smallest_gain(self) -> float:
        """See :class:`Acceptance`."""
        return self._settings.tolerance


class GuardedAcceptance:
    """The default rule: a gain that is more than luck, not paid with nDCG@10 or with a much larger index.

    A candidate passes when its mean objective gains the tolerance; when its index text is at most ``max_growth`` times
    the corpus; when its nDCG@10 is not worse by a one-sided paired t-test at 5 %; and when :class:`LuckTest` over
    everything that the run has tried so far finds it better by more than luck.

    :param settings: How the search is done.
    :param queries: How many validation queries.
    """

    def __init__(self, settings: SearchSettings, queries: int) -> None:
        self._settings = settings
        self._queries = queries
        # Of one query nothing can be learned; the test says so, too.
        self._luck = LuckTest(max(2, queries), settings.iterations, seed=settings.seed)

    def promising(self, outcomes: Sequence[Outcome], incumbent: Evaluation) -> list[Outcome]:
        """See :class:`Acceptance`."""
        better = improvements(outcomes, self._settings.tolerance, self._settings.objective)
        return [outcome for outcome in better if not self._price(outcome, incumbent)]

    def decide(self, iteration: int, outcomes: Sequence[Outcome], incumbent: Evaluation) -> list[Verdict]:
        """See :class:`Acceptance`."""
        # What was dropped early was tried too: the more was tried, the more may look good by luck.
        tried = [outcome for outcome in outcomes if outcome.evaluation or outcome.dropped]
        if not tried or self._queries < 2:
            return [
                Verdict(outcome, "one query cannot show a gain")
                for outcome in improvements(tried, self._settings.tolerance, self._settings.objective)
            ]
        differences = np.array(
            [
                evidence_differences(found.scores, incumbent.scores, self._settings.objective)
                for outcome in tried
                if (found := outcome.evaluation or outcome.dropped)
            ]
        )
        test = self._luck.round(iteration, differences, [outcome.combined for outcome in tried])
        places = {id(outcome): place for place, outcome in enumerate(tried)}
        verdicts = []
        for outcome in improvements(tried, self._settings.tolerance, self._settings.objective):
            place = places[id(outcome)]
            p_value = float(test.p_values[place])
            reason = self._price(outcome, incumbent)
            if not reason and not test.passed[place]:
                reason = f"it may be luck (p {p_value:.2g}, at most {test.allowed:.2g} is allowed so far)"
            statistic = float(test.statistics[place])
            verdicts.append(Verdict(outcome, reason, p_value, test.allowed, statistic, test.mark))
        return verdicts

    def smallest_gain(self) -> float:
        """See :class:`Acceptance`.

        The test looks at smooth recall and can be passed with any gain of the objective that counts at all.
        """
        return self._settings.tolerance

    def _price(self, outcome: Outcome, incumbent: Evaluation) -> str:
        """Say what a gain costs too much of; empty when it does not."""
        evaluation = outcome.evaluation
        assert evaluation
        if evaluation.growth > self._settings.max_growth:
            return f"its index text is {evaluation.growth:.2f} times the corpus, at most {self._settings.max_growth:g}"
        from scipy import stats

        losses = np.array([v["ndcg@10"] - evaluation.scores[q]["ndcg@10"] for q, v in incumbent.scores.items()])
        if len(losses) < 2:
            return ""
        t = float(studentized(losses.sum(), (losses**2).sum(), len(losses)))
        p_value = float(stats.t.sf(t, len(losses) - 1))
        if p_value < _NDCG_LEVEL:
            return f"its nDCG@10 is {losses.mean():.4f} lower (p {p_value:.2g})"
        return ""


def acceptance_rule(settings: SearchSettings, queries: int) -> Acceptance:
    """Make the rule that the settings name, for one run.

    :param settings: How the search is done.
    :param queries: How many validation queries.
    :returns: The rule.
    """
    return PaperAcceptance(settings) if settings.acceptance == "paper" else GuardedAcceptance(settings, queries)
