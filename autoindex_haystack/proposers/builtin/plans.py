"""Plans: recipes that could be tried next, and what each is expected to be worth."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from autoindex_haystack.evaluation.objective import Objective
from autoindex_haystack.proposers.builtin.experience import Experience
from autoindex_haystack.proposers.builtin.forecast import Forecast, Forecaster
from autoindex_haystack.proposers.builtin.library import TRANSFORMS, without
from autoindex_haystack.proposers.builtin.moves import Move
from autoindex_haystack.proposers.builtin.recipe import Recipe
from autoindex_haystack.proposers.builtin.worth import worth

ADDITION, BUNDLE, ABLATION = "addition", "bundle", "ablation"

_GUESS = 0.03
"""What a move's score is worth where nothing can be forecast, each point above the score that promises nothing."""

_NO_PROMISE = 0.3

_GROWTH = 0.002
"""What an index twice as large must earn."""

_TOO_LARGE, _NEAR = 0.05, 0.97
"""What a plan loses whose forecast growth reaches so much of the limit: it is seldom accepted."""

_CURIOSITY = 0.25
"""How much of the uncertainty counts in favour of a plan."""

_LONGEST_BUNDLE, _TRIED_A_LEVEL = 5, 5
_LEAST_GAIN, _LEAST_SHARE = 0.0015, 0.08
"""What each further step of a bundle must be expected to add: so much, and so much of what the bundle has."""


@dataclass(frozen=True)
class Plan:
    """A recipe that could be tried.

    :param recipe: The recipe.
    :param kind: ``addition`` (also another parameter), ``bundle`` of several changes, or ``ablation``.
    :param subject: The transform, for variety within a round.
    :param idea: What it does differently.
    :param reason: Why it should help.
    :param guess: What it is worth where nothing can be forecast.
    :param expected: What it is expected to be worth.
    :param forecast: The forecast, where there is one.
    """

    recipe: Recipe
    kind: str
    subject: str
    idea: str
    reason: str
    guess: float = 0.0
    expected: float = 0.0
    forecast: Forecast | None = None

    def transforms(self, incumbent: Recipe) -> list[str]:
        """Returns the transforms that it adds, changes or leaves out; what it is about comes last."""
        changed = [step.transform for step in self.recipe.steps if step not in incumbent.steps]
        return [*dict.fromkeys(name for name in changed if name != self.subject), self.subject]

    @property
    def rationale(self) -> str:
        """Why it should help, with the forecast."""
        return "; ".join(part for part in (self.reason, str(self.forecast or "")) if part)


@dataclass(frozen=True)
class Judge:
    """Says what plans are expected to be worth.

    :param incumbent: The incumbent's recipe.
    :param growth: The incumbent's growth of the index.
    :param experience: What the outcomes so far say.
    :param forecaster: Forecasts recipes; None where that cannot be done.
    :param objective: What the search maximizes.
    :param max_growth: How many times the corpus the index text may be; None without a limit.
    """

    incumbent: Recipe
    growth: float
    experience: Experience
    forecaster: Forecaster | None
    objective: Objective = "recall@100"
    max_growth: float | None = None

    def expect(self, plan: Plan, *, forecast: bool = True, curious: bool = True) -> Plan:
        """Returns a plan with what it is expected to be worth.

        :param plan: The plan.
        :param forecast: Whether it is forecast if it has not been.
        :param curious: Whether it counts in its favour that little is known of it.
        """
        found = self.forecaster.forecast(plan.recipe) if forecast and self.forecaster else plan.forecast
        value = value_of(found, self.objective) if found else plan.guess
        correction, doubt = self.experience.adjust(plan.recipe, self.incumbent)
        value += correction + (_CURIOSITY * doubt if curious else 0.0)
        if found:
            value -= _GROWTH * (found.growth - 1)
            if self.max_growth is not None and found.growth * self.growth > _NEAR * self.max_growth:
                value -= _TOO_LARGE
        return replace(plan, forecast=found, expected=value)


def value_of(forecast: Forecast, objective: Objective) -> float:
    """Returns what a forecast promises, in the same units as an outcome's worth."""
    return worth({"recall@100": forecast.recall, "ndcg@10": forecast.ndcg}, objective)


def promising_first(moves: Sequence[Move], gains: Mapping[str, float]) -> list[Move]:
    """Order moves by their evidence and by what their transform gained on other collections.

    :param moves: The moves.
    :param gains: What transforms gained elsewhere.
    :returns: The moves, those first that should be forecast first.
    """

    def promise(move: Move) -> tuple[float, str, str]:
        return -move.score - gains.get(move.step.transform, 0.0) / _GUESS, move.step.transform, move.step.parameters

    return sorted(moves, key=promise)


def additions(moves: Sequence[Move], incumbent: Recipe) -> list[Plan]:
    """Returns a plan for each move."""
    return [
        Plan(
            move.apply(incumbent),
            ADDITION,
            move.step.transform,
            TRANSFORMS[move.step.transform].idea(move.step.values),
            move.reason,
            _guess(move),
        )
        for move in moves
    ]


def ablations(incumbent: Recipe) -> list[Plan]:
    """Returns a plan for each step of the incumbent, without it; none when it is the only one."""
    if len(incumbent.steps) < 2:
        return []
    return [
        Plan(
            without(incumbent, step.transform),
            ABLATION,
            step.transform,
            f"without this step: {TRANSFORMS[step.transform].idea(step.values)}",
            "is the step still needed?",
        )
        for step in incumbent.steps
    ]


def no_better_than_forecast(plans: Sequence[Plan], objective: Objective) -> list[Plan]:
    """Lower the guesses of plans without a forecast to the best forecast of their transform.

    :param plans: The plans.
    :param objective: What the search maximizes.
    :returns: The plans in the same order.
    """
    best: dict[str, float] = {}
    for plan in plans:
        if plan.forecast:
            value = value_of(plan.forecast, objective)
            best[plan.subject] = max(best.get(plan.subject, value), value)
    return [replace(plan, guess=min(plan.guess, best.get(plan.subject, plan.guess))) for plan in plans]


def bundles(judge: Judge, moves: Sequence[Move], ranked: Sequence[Plan]) -> Iterator[Plan]:
    """Join several changes, each of which is expected to add to those before.

    :param judge: Says what plans are worth.
    :param moves: The moves, in the order of the plans made of them.
    :param ranked: The plans of :func:`additions`, the best first.
    :returns: The longest bundle first, then its beginnings down to two changes.
    """
    if not ranked:
        return
    of_recipe = {move.apply(judge.incumbent): move for move in moves}
    order = [of_recipe[plan.recipe] for plan in ranked if plan.recipe in of_recipe and plan.expected > 0]
    chain: list[Plan] = []
    current, used = judge.incumbent, set[str]()
    while len(chain) < _LONGEST_BUNDLE:
        open_moves = _first_of_each([move for move in order if move.step.transform not in used])
        plans = [_joined(current, move, chain) for move in open_moves[:_TRIED_A_LEVEL]]
        tried = [judge.expect(plan, curious=False) for plan in plans]
        best = max(tried, key=lambda plan: plan.expected, default=None)
        so_far = chain[-1].expected if chain else 0.0
        if best is None or not adds_enough(best.expected, so_far):
            break
        chain.append(best)
        current = best.recipe
        used.add(best.subject)
    yield from reversed(chain[1:])


def adds_enough(expected: float, so_far: float) -> bool:
    """Whether what a longer bundle is expected to be worth is enough more than what it has so far."""
    return expected >= so_far + max(_LEAST_GAIN, _LEAST_SHARE * so_far)


def _joined(current: Recipe, move: Move, chain: Sequence[Plan]) -> Plan:
    idea = TRANSFORMS[move.step.transform].idea(move.step.values)
    together = f"{chain[-1].idea}; {idea}" if chain else idea
    guess = (chain[-1].guess if chain else 0.0) + _guess(move)
    reason = "each is expected to add to the others"
    return Plan(move.apply(current), BUNDLE, move.step.transform, together, reason, guess)


def _guess(move: Move) -> float:
    return _GUESS * (move.score - _NO_PROMISE)


def _first_of_each(moves: Sequence[Move]) -> list[Move]:
    """At most two moves of each transform."""
    seen: dict[str, int] = {}
    kept = []
    for move in moves:
        seen[move.step.transform] = seen.get(move.step.transform, 0) + 1
        if seen[move.step.transform] <= 2:
            kept.append(move)
    return kept
