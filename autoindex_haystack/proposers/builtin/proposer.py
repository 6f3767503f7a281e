"""The built-in proposer: composes programs from the library, guided by evidence and by what has worked; no LLM."""

import operator
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from autoindex_haystack.errors import ProgramError, SandboxError
from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.evaluation.objective import Objective, objective_value
from autoindex_haystack.program import Program
from autoindex_haystack.proposers.base import Candidate, Outcome, ProposerState
from autoindex_haystack.proposers.builtin.contrast import Contrast, contrast_documents
from autoindex_haystack.proposers.builtin.experience import Experience
from autoindex_haystack.proposers.builtin.forecast import Forecaster
from autoindex_haystack.proposers.builtin.learning import Learning
from autoindex_haystack.proposers.builtin.library import compose
from autoindex_haystack.proposers.builtin.moves import Move, moves
from autoindex_haystack.proposers.builtin.plans import (
    ABLATION,
    BUNDLE,
    Judge,
    Plan,
    ablations,
    additions,
    adds_enough,
    bundles,
    no_better_than_forecast,
    promising_first,
    value_of,
)
from autoindex_haystack.proposers.builtin.priors import Priors
from autoindex_haystack.proposers.builtin.profile import Profile, profile_corpus
from autoindex_haystack.proposers.builtin.reading import read_recipe
from autoindex_haystack.proposers.builtin.recipe import Recipe, Step
from autoindex_haystack.proposers.builtin.render import render
from autoindex_haystack.proposers.builtin.start import fitting, starting_point
from autoindex_haystack.proposers.builtin.trusted import is_plain

_FORECAST = 24
"""Moves that are forecast, those with the most promising evidence; the others are judged by that alone."""

_SAME_KIND, _MOST_OF_A_KIND = 0.6, 0.02
"""Which share of its worth each further plan of the same transform in one round loses, and what it is worth at
most: only one of them can be adopted, so that it counts for little more than the chance to be the best of them."""


class BuiltinProposer:
    """Suggests programs without a language model and without a network.

    It reads the corpus, asks why relevant documents are missed, forecasts by a small exact re-ranking what each change
    would bring, and learns from every outcome how far to trust its forecasts. A round has bundles of changes that add
    to one another, single changes, other parameters, and the incumbent with one step left out. It never suggests the
    same program twice, nor one that is known to give the same output. Where somebody else wrote the incumbent, it adds
    steps to the chunks that it makes.

    :param priors: What helped on other collections; the shipped table when not given.
    """

    name = "builtin"

    def __init__(self, priors: Priors | None = None) -> None:
        self._priors = Priors.shipped() if priors is None else priors
        self._contrast: tuple[object, Contrast] | None = None
        self._forecaster: tuple[object, Forecaster] | None = None

    def propose(self, state: ProposerState) -> list[Candidate]:
        """Suggest programs; see :class:`autoindex_haystack.proposers.Proposer`."""
        incumbent = starting_point(state)
        profile = _profile(_Documents(state.collection.documents))
        contrast = self._contrasted(state, profile)
        gains = self._priors.gains(profile, state.objective)
        found = promising_first(fitting(moves(incumbent, profile, contrast), incumbent), gains)
        judge, plans = self._judge(state, incumbent, profile, found)
        ranked = sorted((judge.expect(plan, forecast=False) for plan in plans), key=_order)
        joined = list(bundles(judge, found, ranked))
        left_out = sorted((judge.expect(plan) for plan in ablations(incumbent)), key=_order)
        chosen = _Round(state, judge.experience, incumbent).fill(ranked, joined, left_out)
        self._note(state, incumbent, [*ranked, *joined, *left_out], {candidate.idea for candidate in chosen})
        return chosen

    def combine(self, state: ProposerState, improvements: Sequence[Outcome]) -> Candidate | None:
        """Join improvements; see :class:`autoindex_haystack.proposers.Proposer`."""
        incumbent = starting_point(state)
        forecaster = self._forecasts(state, incumbent)
        judge = _judge(state, incumbent, Experience.of((), state.baseline, {}, {}), forecaster)

        def expected(recipe: Recipe) -> float:
            return judge.expect(Plan(recipe, BUNDLE, "", "", ""), curious=False).expected

        read = [(outcome, read_recipe(outcome.candidate.source)) for outcome in improvements]
        pairs = [(outcome, recipe) for outcome, recipe in read if recipe.base == incumbent.base]
        if not pairs:
            return None
        joined, combined = [pairs[0][0]], pairs[0][1]
        for outcome, recipe in pairs[1:]:
            longer = _with_changes(combined, recipe, incumbent)
            if longer != combined and (forecaster is None or adds_enough(expected(longer), expected(combined))):
                combined = longer
                joined.append(outcome)
        source = render(combined)
        tried = {outcome.candidate.sha256 for outcome in state.history}
        if len(joined) < 2 or Program(source).sha256 in tried or state.check(source):
            return None
        ideas = "; ".join(outcome.candidate.idea for outcome in joined)
        parents = tuple(outcome.candidate.sha256 for outcome in joined)
        return Candidate(source, f"together: {ideas}", f"each of {len(joined)} changes helped alone", parents)

    def _judge(
        self, state: ProposerState, incumbent: Recipe, profile: Profile, found: Sequence[Move]
    ) -> tuple[Judge, list[Plan]]:
        """Forecast the moves that the evidence speaks for, and learn from the outcomes how far to trust that."""
        forecaster = self._forecasts(state, incumbent)
        plans = additions(found, incumbent)
        if forecaster:
            chosen = set(_spread(found, _FORECAST))
            plans = [
                replace(plan, forecast=forecaster.forecast(plan.recipe))
                if i in chosen and is_plain(plan.recipe)
                else plan
                for i, plan in enumerate(plans)
            ]
        plans = no_better_than_forecast(plans, state.objective)
        promised = {
            move.step: value_of(plan.forecast, state.objective) if plan.forecast else plan.guess
            for move, plan in zip(found, plans, strict=True)
        }
        priors = self._priors.surplus(profile, state.objective)
        experience = Experience.of(state.history, state.baseline, promised, priors, state.objective)
        return _judge(state, incumbent, experience, forecaster), plans

    def _contrasted(self, state: ProposerState, profile: Profile) -> Contrast:
        """What sets missed documents apart under the incumbent; kept while the incumbent stays."""
        key = (_key(state), state.objective)
        if self._contrast is None or self._contrast[0] != key:
            rankings = state.evaluation.rankings
            self._contrast = key, contrast_documents(state.collection, rankings, profile, state.objective)
        return self._contrast[1]

    def _forecasts(self, state: ProposerState, incumbent: Recipe) -> Forecaster | None:
        """The forecaster of the incumbent; kept while the incumbent stays, since it always gives the same answers."""
        if state.diagnosis is None or not state.collection.queries or not is_plain(incumbent):
            return None
        if incumbent.steps and render(incumbent) != state.incumbent.source:
            return None  # The diagnosis is of another program than the one that is built on.
        key = _key(state)
        if self._forecaster is None or self._forecaster[0] != key:
            try:
                diagnosis = state.diagnosis()
            except (ProgramError, SandboxError):
                return None  # The incumbent fails when it is run again; evidence without it must do.
            learning = _learning(_Documents(state.collection.documents))
            made = Forecaster(state.collection, diagnosis, incumbent, state.evaluation.state, state.seed, learning)
            self._forecaster = key, made
        return self._forecaster[1]

    @staticmethod
    def _note(state: ProposerState, incumbent: Recipe, plans: Iterable[Plan], chosen: Collection[str]) -> None:
        """Keep the evidence: what each plan was forecast to do, and which were chosen."""
        rows = [
            {
                "kind": plan.kind,
                "transforms": plan.transforms(incumbent),
                "idea": plan.idea,
                "expected": plan.expected,
                "forecast": plan.forecast.as_dict() if plan.forecast else None,
            }
            for plan in plans
            if plan.forecast or plan.idea in chosen
        ]
        state.note({"forecasts": rows})


class _Round:
    """Fills one round with candidates.

    :param state: The state.
    :param experience: What the outcomes so far say.
    :param incumbent: The incumbent's recipe.
    """

    def __init__(self, state: ProposerState, experience: Experience, incumbent: Recipe) -> None:
        self._state = state
        self._experience = experience
        self._known = {experience.canonical(incumbent), Recipe()}
        self._may_lose_nothing: set[str] = set()
        for outcome in state.history:
            self._known.add(experience.canonical(read_recipe(outcome.candidate.source)))
            if outcome.evaluation and _loses_nothing(outcome.evaluation, state.evaluation, state.objective):
                self._may_lose_nothing.add(outcome.candidate.sha256)
        self._may_lose_nothing -= {
            outcome.candidate.sha256
            for outcome in state.history
            if outcome.candidate.simplifies and outcome.candidate.parents == (state.incumbent.sha256,)
        }

    def fill(self, ranked: Sequence[Plan], joined: Sequence[Plan], left_out: Sequence[Plan]) -> list[Candidate]:
        """Choose plans: bundles, then a quarter for what could be left out, then the best changes, varied."""
        number = self._state.number
        chosen: list[Candidate] = []
        chosen += self._take(joined, min(2, max(1, number // 4)))
        chosen += self._take(left_out, max(1, number // 4))
        chosen += self._take(_varied(ranked), number - len(chosen))
        chosen += self._take([*left_out, *joined], number - len(chosen))
        return chosen[:number]

    def _take(self, plans: Iterable[Plan], most: int) -> list[Candidate]:
        """The first plans whose programs are new and valid."""
        taken: list[Candidate] = []
        for plan in plans:
            if len(taken) >= most:
                break
            canonical = self._experience.canonical(plan.recipe)
            parents, simplifies = (self._state.incumbent.sha256,), plan.kind == ABLATION
            candidate = Candidate(render(plan.recipe), plan.idea, plan.rationale, parents, simplifies)
            # What was tried before the incumbent may turn out to be as good as it, with less.
            again = simplifies and candidate.sha256 in self._may_lose_nothing
            if (canonical in self._known and not again) or self._state.check(candidate.source):
                continue
            self._known.add(canonical)
            self._may_lose_nothing.discard(candidate.sha256)
            taken.append(candidate)
        return taken


def _loses_nothing(evaluation: Evaluation, incumbent: Evaluation, objective: Objective) -> bool:
    values = (objective_value(found.metrics, objective) for found in (evaluation, incumbent))
    return operator.ge(*values) and evaluation.chunk_bytes <= incumbent.chunk_bytes


def _judge(state: ProposerState, incumbent: Recipe, experience: Experience, forecaster: Forecaster | None) -> Judge:
    return Judge(incumbent, state.evaluation.growth, experience, forecaster, state.objective, state.max_growth)


class _Documents:
    """A sequence that compares by identity, so that a profile is made once for a corpus."""

    def __init__(self, documents: Sequence[Any]) -> None:
        self.documents = documents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Documents) and self.documents is other.documents

    def __hash__(self) -> int:
        return id(self.documents)


def _key(state: ProposerState) -> tuple[object, ...]:
    """What evidence about the incumbent depends on."""
    return (_Documents(state.collection.documents), state.incumbent.sha256, state.seed, *state.collection.queries)


@lru_cache(maxsize=1)
def _learning(documents: _Documents) -> Learning:
    return Learning(documents.documents)


@lru_cache(maxsize=1)
def _profile(documents: _Documents) -> Profile:
    return profile_corpus(documents.documents)


def _order(plan: Plan) -> tuple[float, str]:
    return -plan.expected, plan.recipe.literal()


def _spread(found: Sequence[Move], most: int) -> list[int]:
    """The places of the moves to forecast: three of each transform, then three more, in the order of their evidence."""
    seen: Counter[str] = Counter()
    turns = []
    for i, move in enumerate(found):
        turns.append((seen[move.step.transform] // 3, i))
        seen[move.step.transform] += 1
    return [i for _, i in sorted(turns)[:most]]


def _varied(ranked: Sequence[Plan]) -> list[Plan]:
    """Order plans so that those of the same transform do not crowd one round."""
    seen: Counter[str] = Counter()
    varied = []
    for plan in ranked:
        expected = min(plan.expected, _MOST_OF_A_KIND) if seen[plan.subject] else plan.expected
        loss = _SAME_KIND * abs(expected) * seen[plan.subject]
        varied.append(replace(plan, expected=expected - loss))
        seen[plan.subject] += 1
    return sorted(varied, key=_order)


def _with_changes(combined: Recipe, recipe: Recipe, incumbent: Recipe) -> Recipe:
    """Add what a recipe changes of the incumbent, except where the combination has changed the same transform."""
    for step in _changed(recipe, incumbent):
        present, old = combined.get(step.transform), incumbent.get(step.transform)
        if present is None or present == old:
            combined = compose(combined, step)
        elif step.transform == "fields":
            combined = compose(combined, _merge(step, present, old))
    return combined


def _changed(recipe: Recipe, parent: Recipe) -> list[Step]:
    return [step for step in recipe.steps if step not in parent.steps]


def _merge(present: Step, step: Step, old: Step | None) -> Step:
    """Join two changes of the fields step: everything that either leaves out or repeats."""
    base = old.values if old else {"dropped": [], "repeated": {}}
    dropped = {*present.values["dropped"], *step.values["dropped"]}
    restored = {name for name in base["dropped"] if name not in step.values["dropped"]}
    repeated = {**present.values["repeated"], **step.values["repeated"]}
    kept = sorted(dropped - restored)
    return step.having(dropped=kept, repeated={name: n for name, n in repeated.items() if name not in kept})
