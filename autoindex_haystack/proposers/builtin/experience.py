"""What the outcomes so far say of steps that have not been tried, or not in this company.

A program's worth is taken as the sum of what its features add: each transform, each of its parameters, each exact step.
Bayesian linear regression with the forecasts as prior means tells which to trust: one good try raises the
transform's other parameters too, many poor ones lower them, and a gain that was too small to be adopted still counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.evaluation.objective import Objective
from autoindex_haystack.program import Program
from autoindex_haystack.proposers.base import Outcome
from autoindex_haystack.proposers.builtin.library import TRANSFORMS
from autoindex_haystack.proposers.builtin.reading import read_recipe
from autoindex_haystack.proposers.builtin.recipe import Recipe, Step
from autoindex_haystack.proposers.builtin.worth import worth

_NOISE = 0.003
"""Standard deviation of what the sum of features does not explain: how steps act on one another."""

_SPREAD = {"transform": 0.015, "parameter": 0.006, "step": 0.006}
"""Prior standard deviation of a feature's weight, by kind."""

_FAILED = -0.05
"""What a program that fails is taken to be worth."""


@dataclass(frozen=True)
class Experience:
    """What is believed of features after the outcomes so far.

    :param places: The place of each known feature.
    :param surplus: float64, shape (features,): how much more each feature is worth than was forecast.
    :param covariance: float64, shape (features, features): how certain that is.
    :param idle: Steps that changed nothing when they were tried.
    """

    places: Mapping[str, int]
    surplus: NDArray[np.float64]
    covariance: NDArray[np.float64]
    idle: frozenset[Step]

    @classmethod
    def of(
        cls,
        history: Sequence[Outcome],
        baseline: Evaluation,
        forecasts: Mapping[Step, float],
        priors: Mapping[str, float],
        objective: Objective = "recall@100",
    ) -> "Experience":
        """Learn from the outcomes so far.

        :param history: The outcomes.
        :param baseline: The baseline's evaluation.
        :param forecasts: What steps that the incumbent does not have are forecast to add.
        :param priors: What transforms are known to add beyond their forecast.
        :param objective: What the search maximizes.
        :returns: The experience.
        """
        rows = list(_recipes(history))
        steps = dict.fromkeys([*(step for _, recipe in rows for step in recipe.steps), *forecasts])
        names = list(dict.fromkeys(name for step in steps for name in _features(step)))
        places = {name: i for i, name in enumerate(names)}
        means = np.zeros(len(names))
        for step, forecast in forecasts.items():
            means[places[f"step {step}"]] = forecast
        surplus = np.array([priors.get(name.removeprefix("transform "), 0.0) for name in names])
        spread = np.array([_SPREAD[name.partition(" ")[0]] for name in names])
        design = np.zeros((len(rows), len(names)))
        for i, (_, recipe) in enumerate(rows):
            design[i, [places[name] for step in recipe.steps for name in _features(step)]] = 1.0
        precision = design.T @ design / _NOISE**2 + np.diag(1 / spread**2)
        covariance = np.asarray(np.linalg.inv(precision), np.float64)
        residual = _values(history, rows, baseline, objective) - design @ (means + surplus)
        return cls(
            places, surplus + covariance @ (design.T @ residual) / _NOISE**2, covariance, _idle(history, baseline)
        )

    def adjust(self, recipe: Recipe, incumbent: Recipe) -> tuple[float, float]:
        """Say by how much the forecast of a recipe should be corrected.

        :param recipe: The recipe.
        :param incumbent: The recipe with which the forecast compares it.
        :returns: The correction and its standard deviation.
        """
        change = np.zeros(len(self.places))
        unknown = 0.0
        for sign, steps in ((1.0, recipe.steps), (-1.0, incumbent.steps)):
            for name in (name for step in steps for name in _features(step)):
                if name in self.places:
                    change[self.places[name]] += sign
                else:
                    unknown += _SPREAD[name.partition(" ")[0]] ** 2
        return float(change @ self.surplus), float(np.sqrt(change @ self.covariance @ change + unknown))

    def canonical(self, recipe: Recipe) -> Recipe:
        """Returns a recipe without the steps that are known to change nothing, and with all parameters named."""
        return replace(recipe, steps=tuple(complete(step) for step in recipe.steps if step not in self.idle))


def complete(step: Step) -> Step:
    """Returns a step with the usual values of the parameters that it does not name."""
    transform = TRANSFORMS.get(step.transform)
    return Step.of(step.transform, **transform.complete(step.values)) if transform else step


def _recipes(history: Sequence[Outcome]) -> Iterable[tuple[Outcome, Recipe]]:
    for outcome in history:
        recipe = read_recipe(outcome.candidate.source)
        if recipe.steps or not recipe.base:
            yield outcome, recipe


def _values(
    history: Sequence[Outcome], rows: Sequence[tuple[Outcome, Recipe]], baseline: Evaluation, objective: Objective
) -> NDArray[np.float64]:
    """What the steps of each outcome were worth beyond the baseline, or beyond the program that they were added to.

    Where only its gain is known, that is added to what its parent was worth.
    """
    base = worth(baseline.metrics, objective)
    known = {baseline.program_sha256: 0.0}
    known |= {o.candidate.sha256: worth(o.evaluation.metrics, objective) - base for o in history if o.evaluation}
    values = []
    for outcome, recipe in rows:
        before = known.get(Program(recipe.base).sha256) if recipe.base else 0.0
        value = _FAILED
        if before is None:  # The program that the search started from.
            value = _FAILED if outcome.gain is None else outcome.gain
        elif outcome.evaluation:
            value = known[outcome.candidate.sha256] - before
        elif outcome.gain is not None:
            value = known.get(next(iter(outcome.candidate.parents), ""), before) + outcome.gain - before
        values.append(value)
    return np.array(values, np.float64)


def _features(step: Step) -> list[str]:
    """The features of a step: the transform, each parameter (each item of a list or mapping), the step itself."""
    found = [f"transform {step.transform}"]
    for name, value in complete(step).values.items():
        items = [f"{k}={v}" for k, v in value.items()] if isinstance(value, dict) else value
        found += [f"parameter {step.transform} {name} {v}" for v in (items if isinstance(items, list) else [items])]
    return [*dict.fromkeys(found), f"step {step}"]


def _idle(history: Sequence[Outcome], baseline: Evaluation) -> frozenset[Step]:
    """Steps that gave the very rankings of the program that they were added to."""
    known: dict[str, tuple[Recipe, Evaluation]] = {baseline.program_sha256: (Recipe(), baseline)}
    found = set()
    for outcome, recipe in _recipes(history):
        if outcome.evaluation is None or recipe.base:
            continue  # What changes nothing after somebody else's program may change the documents.
        known[outcome.candidate.sha256] = recipe, outcome.evaluation
        parent, before = known.get(next(iter(outcome.candidate.parents), ""), (None, None))
        if parent is None or before is None:
            continue
        added = [step for step in recipe.steps if step not in parent.steps]
        if _same(before, outcome.evaluation) and len(added) == 1 and len(recipe.steps) == len(parent.steps) + 1:
            found.add(added[0])
    return frozenset(found)


def _same(one: Evaluation, other: Evaluation) -> bool:
    return (one.chunk_bytes, one.metrics, one.rankings) == (other.chunk_bytes, other.metrics, other.rankings)
