"""The built-in proposer: composes programs from the library, guided by evidence and by what has worked; no LLM."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from autoindex_haystack.program import Program
from autoindex_haystack.proposers.base import Candidate, Outcome, ProposerState
from autoindex_haystack.proposers.builtin.contrast import contrast_documents
from autoindex_haystack.proposers.builtin.library import TRANSFORMS, compose, without
from autoindex_haystack.proposers.builtin.moves import Move, moves
from autoindex_haystack.proposers.builtin.profile import Profile, profile_corpus
from autoindex_haystack.proposers.builtin.recipe import Recipe, Step, read_recipe
from autoindex_haystack.proposers.builtin.render import render

_RETRY = 20.0
"""How much an earlier gain of 0.01 Recall@100 raises a move's score when it is tried on another incumbent: by 0.2."""

_SAME_KIND = 0.12
"""What each further move of the same transform in one iteration loses, so that an iteration tries different things."""


class BuiltinProposer:
    """Suggests programs without a language model and without a network.

    It reads the corpus (markup, fields, titles, lengths, LaTeX, identifiers), compares relevant documents that are
    missed with wrong ones that are ranked, tries the changes that this speaks for, tries again on a new incumbent what
    helped before, and then refines what was adopted. It never suggests the same program twice.
    """

    name = "builtin"

    def propose(self, state: ProposerState) -> list[Candidate]:
        """Suggest programs; see :class:`autoindex_haystack.proposers.Proposer`."""
        recipe = read_recipe(state.incumbent.source) or Recipe()
        profile = _profile(_Documents(state.collection.documents))
        contrast = contrast_documents(state.collection, state.evaluation.rankings, profile)
        scored = _with_experience(moves(recipe, profile, contrast), state.history)
        tried = {outcome.candidate.sha256 for outcome in state.history} | {state.incumbent.sha256}
        candidates: list[Candidate] = []
        for move in _varied(scored):
            candidate = _candidate(move.apply(recipe), move.step, move.reason, (state.incumbent.sha256,))
            if len(candidates) < state.number and candidate.sha256 not in tried and not state.check(candidate.source):
                tried.add(candidate.sha256)
                candidates.append(candidate)
        return candidates or _simplified(recipe, state, tried)

    def combine(self, state: ProposerState, improvements: Sequence[Outcome]) -> Candidate | None:
        """Join improvements; see :class:`autoindex_haystack.proposers.Proposer`."""
        incumbent = read_recipe(state.incumbent.source) or Recipe()
        combined = incumbent
        # The best one comes last, so that its parameters stand where two improvements change the same transform.
        for outcome in reversed(improvements):
            recipe = read_recipe(outcome.candidate.source)
            if recipe is None:
                continue
            for step in _changed(recipe, incumbent):
                present = combined.get(step.transform)
                old = incumbent.get(step.transform)
                merged = _merge(present, step, old) if present and step.transform == "fields" else step
                combined = compose(combined, merged)
        source = render(combined)
        tried = {outcome.candidate.sha256 for outcome in state.history}
        if Program(source).sha256 in tried or state.check(source):
            return None
        ideas = "; ".join(outcome.candidate.idea for outcome in improvements)
        parents = tuple(outcome.candidate.sha256 for outcome in improvements)
        return Candidate(source, f"together: {ideas}", f"each of {len(improvements)} changes helped alone", parents)


class _Documents:
    """A sequence that compares by identity, so that a profile is made once for a corpus."""

    def __init__(self, documents: Sequence[Any]) -> None:
        self.documents = documents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Documents) and self.documents is other.documents

    def __hash__(self) -> int:
        return id(self.documents)


@lru_cache(maxsize=1)
def _profile(documents: _Documents) -> Profile:
    return profile_corpus(documents.documents)


def _candidate(recipe: Recipe, step: Step, reason: str, parents: tuple[str, ...]) -> Candidate:
    idea = TRANSFORMS[step.transform].idea(step.values)
    return Candidate(render(recipe), idea, reason, parents)


def _with_experience(found: Sequence[Move], history: Sequence[Outcome]) -> list[Move]:
    """Raise what helped on an earlier incumbent, lower what hurt, and lower transforms that only ever hurt."""
    gains: dict[Step, float] = {}
    by_transform: dict[str, list[float]] = defaultdict(list)
    for outcome in history:
        recipe, parent = read_recipe(outcome.candidate.source), _parent(outcome, history)
        if recipe is None or outcome.combined:
            continue
        for step in _changed(recipe, parent):
            gain = outcome.gain if outcome.gain is not None else -1.0
            gains[step] = gain
            by_transform[step.transform].append(gain)
    return [_adjusted(move, gains, by_transform) for move in found]


def _adjusted(move: Move, gains: Mapping[Step, float], by_transform: Mapping[str, Sequence[float]]) -> Move:
    known = gains.get(move.step)
    if known is not None:
        reason = f"it changed Recall@100 by {known:+.4f} on another incumbent"
        return replace(move, score=move.score + max(-1.0, _RETRY * known) - (0.1 if known <= 0 else 0.0), reason=reason)
    others = by_transform.get(move.step.transform)
    if others:
        return replace(move, score=move.score + max(-0.3, min(0.3, _RETRY * max(others))))
    return move


def _parent(outcome: Outcome, history: Sequence[Outcome]) -> Recipe:
    """The recipe that a candidate was made from; the empty one for the baseline."""
    sources = {other.candidate.sha256: other.candidate.source for other in history}
    source = sources.get(outcome.candidate.parents[0], "") if outcome.candidate.parents else ""
    return read_recipe(source) or Recipe()


def _varied(found: Sequence[Move]) -> list[Move]:
    """Order moves so that those of the same transform do not crowd one iteration."""
    seen: dict[str, int] = defaultdict(int)
    varied = []
    for move in sorted(found, key=lambda move: (-move.score, move.step.transform, move.step.parameters)):
        varied.append(replace(move, score=move.score - _SAME_KIND * seen[move.step.transform]))
        seen[move.step.transform] += 1
    return sorted(varied, key=lambda move: (-move.score, move.step.transform, move.step.parameters))


def _simplified(recipe: Recipe, state: ProposerState, tried: set[str]) -> list[Candidate]:
    """When nothing else is left: the incumbent without one of its steps."""
    found = []
    for step in recipe.steps:
        source = render(without(recipe, step.transform))
        if Program(source).sha256 not in tried:
            idea = f"without this step: {TRANSFORMS[step.transform].idea(step.values)}"
            found.append(Candidate(source, idea, "is the step still needed?", (state.incumbent.sha256,)))
    return found[: state.number]


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
