"""Moves: the single changes of a recipe that a corpus and its missed documents speak for, each with a reason."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autoindex_haystack.proposers.builtin.contrast import Contrast
from autoindex_haystack.proposers.builtin.library import TRANSFORMS, compose
from autoindex_haystack.proposers.builtin.profile import Profile
from autoindex_haystack.proposers.builtin.recipe import Recipe, Step

_REFINED = 0.15
"""What a refinement of an adopted step is worth, on the scale of first tries."""


_LESS_LIKELY = 0.4
"""What other parameters lose against those that the evidence speaks for."""


@dataclass(frozen=True)
class Move:
    """A change of a recipe.

    :param step: The step that is added, or put in the place of the one of the same transform.
    :param needs: Steps that this one builds on; added where the recipe has none of their transform.
    :param score: How promising it is; only the order matters.
    :param reason: The evidence, in a sentence.
    """

    step: Step
    score: float
    reason: str
    needs: tuple[Step, ...] = ()

    def apply(self, recipe: Recipe) -> Recipe:
        """Returns a recipe with this change."""
        missing = [step for step in self.needs if recipe.get(step.transform) is None]
        return compose(recipe, *missing, self.step)


def moves(recipe: Recipe, profile: Profile, contrast: Contrast) -> list[Move]:
    """List the changes worth trying, the most promising first.

    :param recipe: The incumbent's recipe.
    :param profile: The corpus's profile.
    :param contrast: What sets missed documents apart.
    :returns: The moves; none that would leave the recipe as it is.
    """
    found = [
        *_word_forms(profile, contrast),
        *_lengths(profile, contrast),
        *_fields(recipe, profile, contrast),
        *_cleaning(profile, contrast),
        *_layout(profile, contrast),
        *_chunks(profile, contrast),
        *_variants(profile, contrast),
        *_aliases(profile),
        *_refinements(recipe),
    ]
    best: dict[Step, Move] = {}
    for move in map(_completed, [*found, *_explorations(found)]):
        known = best.get(move.step)
        if move.step not in recipe.steps and (known is None or known.score < move.score):
            best[move.step] = move
    return sorted(best.values(), key=lambda move: (-move.score, move.step.transform, move.step.parameters))


def _completed(move: Move) -> Move:
    """Name every parameter, so that one program has one recipe."""
    return replace(
        move, step=Step.of(move.step.transform, **TRANSFORMS[move.step.transform].complete(move.step.values))
    )


def _word_forms(profile: Profile, contrast: Contrast) -> Iterator[Move]:
    reason = f"{contrast.forms:.0%} of the query terms stand in missed documents in another form only"
    first = Step.of("word_forms", most=4, documents=2)
    yield Move(first, 0.3 + 3 * contrast.forms, reason)
    yield Move(first.having(stems="plural"), 0.2 + 2 * contrast.forms, reason + "; singular and plural cost least")
    if profile.words > 60:
        score = 0.28 + 2.8 * contrast.forms
        yield Move(first.having(first=100), score, reason + "; the first words say what the document is about")


def _lengths(profile: Profile, contrast: Contrast) -> Iterator[Move]:
    """Short documents that outrank relevant longer ones."""
    if contrast.length > 1.1 and profile.spread > 1.5:
        reason = f"missed documents are {contrast.length:.1f} times as long as wrong ones that are ranked"
        yield Move(Step.of("pad", share=0.5, times=1), 0.2 + 0.3 * min(1.5, contrast.length - 1), reason)


def _fields(recipe: Recipe, profile: Profile, contrast: Contrast) -> Iterator[Move]:
    """Parse the markup, drop what does not tell relevant from wrong documents, repeat what does."""
    if not profile.markup:
        return
    plain = _plain_fields(profile)
    now = recipe.get("fields") or plain
    yield Move(
        plain, 0.35, f"documents are written as {profile.markup.replace('_', ' ')}; labels and marks say nothing"
    )
    dropped, repeated = list(now.values["dropped"]), dict(now.values["repeated"])
    shares, lifts, covers = profile.field_shares, contrast.lifts, contrast.covers
    weak = [name for name in shares if name not in dropped and lifts.get(name, 1.0) < 0.9 and shares[name] < 0.5]
    weak.sort(key=lambda name: (lifts[name], name))
    for name in weak:
        score = 0.3 + shares[name] + 0.5 * (0.9 - lifts[name])
        reason = f"field {name} has {shares[name]:.0%} of the words and tells relevant from wrong documents less well"
        yield Move(now.having(dropped=sorted({*dropped, name}), repeated=_kept(repeated, name)), score, reason)
    if len(weak) > 2:
        few = sorted({*dropped, *weak})
        kept = {name: times for name, times in repeated.items() if name not in few}
        yield Move(
            now.having(dropped=few, repeated=kept), 0.5, f"{len(weak)} fields tell relevant from wrong less well"
        )
    for name in dropped:
        yield Move(now.having(dropped=[other for other in dropped if other != name]), 0.1, f"perhaps {name} is needed")
    strong = [name for name in shares if name not in dropped and lifts.get(name, 1.0) > 1.05 and shares[name] < 0.6]
    strong.sort(key=lambda name: (-lifts[name] * covers[name], name))
    for name in strong[:4]:
        reason = f"field {name} tells relevant from wrong documents {lifts[name]:.1f} times as well as the whole text"
        for times in (2, 3):
            weight = {**repeated, name: repeated.get(name, 1) + times - 1}
            score = 0.3 + min(0.3, 0.3 * (lifts[name] - 1)) + 0.3 * covers[name] - 0.05 * times
            yield Move(now.having(repeated=weight), score, reason)


def _cleaning(profile: Profile, contrast: Contrast) -> Iterator[Move]:
    if profile.markdown > 0.01:
        yield Move(
            Step.of("markdown"), 0.3 + profile.markdown, f"{profile.markdown:.0%} of the text is Markdown syntax"
        )
    if profile.boilerplate > 0.01:
        reason = f"{profile.boilerplate:.0%} of the text are lines that many documents share"
        yield Move(Step.of("boilerplate", share=0.01), 0.25 + profile.boilerplate, reason)
    if profile.labels > 0.005:
        reason = f"{profile.labels:.1%} of the text are labels in brackets that many documents share"
        yield Move(Step.of("labels"), 0.2 + profile.labels, reason)
    if profile.repeated_lines > 0.02:
        reason = f"{profile.repeated_lines:.0%} of the text are lines that their document repeats"
        yield Move(Step.of("repeated_lines"), 0.2 + 0.5 * profile.repeated_lines, reason)
    if contrast.stuffing > 1.3:
        reason = f"wrong documents say a query's term {contrast.stuffing:.1f} times as often as relevant ones"
        yield Move(Step.of("flatten"), 0.1 + 0.2 * min(1.5, contrast.stuffing - 1), reason)
    if profile.addresses > 0.005:
        yield Move(Step.of("addresses"), 0.15 + profile.addresses, f"{profile.addresses:.1%} of the text are addresses")
    if profile.latex > 0.5:
        reason = f"{profile.latex:.1f} LaTeX commands per 100 words"
        for spell in (True, False):
            score = 0.3 + 0.02 * min(10.0, profile.latex) + (2 * contrast.gains.get("latex", 0.0) if spell else 0.0)
            yield Move(Step.of("latex", spell=spell), score, reason)


def _layout(profile: Profile, contrast: Contrast) -> Iterator[Move]:
    if profile.titled > 0.5 or profile.title_field:
        lift = contrast.lifts.get("*title", 1.0)
        reason = f"titles tell relevant from wrong documents {lift:.1f} times as well as the whole text"
        needs = () if profile.titled > 0.5 else (_plain_fields(profile),)
        yield Move(Step.of("title", times=2), 0.25 + 0.1 * min(2.0, lift), reason, needs)
    lift = contrast.lifts.get("*lead", 1.0)
    reason = f"the first words tell relevant from wrong documents {lift:.1f} times as well as the whole text"
    if profile.words > 40:
        yield Move(Step.of("lead", words=50, times=1), 0.2 + 0.2 * min(2.0, lift - 0.5), reason)
    if profile.words > 80:
        yield Move(Step.of("lead_chunk", words=60), 0.25 + 0.2 * min(2.0, lift - 0.5), reason)
    if profile.metadata:
        yield Move(Step.of("metadata", names=list(profile.metadata)), 0.5, "the user named these metadata fields")


def _chunks(profile: Profile, contrast: Contrast) -> Iterator[Move]:
    """Parts of long documents as chunks, or weighted up."""
    if profile.headings > 0.3:
        kind, share = profile.heading, profile.headings
        reason = f"{share:.0%} of the documents have {kind} headings, which say what they are about"
        yield Move(Step.of("headings", kind=kind, times=1), 0.2 + 0.1 * share, reason)
    if profile.long <= 0.1:
        return
    reason = f"missed documents are {contrast.length:.1f} times as long as wrong ones"
    score = 0.2 + 0.15 * profile.long + 0.1 * min(2.0, max(-1.0, contrast.length - 1))
    for words in (200, 100):
        yield Move(Step.of("passages", words=words), score - (0.02 if words == 100 else 0.0), reason)
    if profile.headings > 0.3:
        reason = f"{profile.headings:.0%} of the documents have {profile.heading} headings"
        yield Move(Step.of("sections", kind=profile.heading, words=30), score + 0.05, reason)
    if profile.element:
        reason = f"documents have several elements {profile.element}, each an answer of its own"
        yield Move(Step.of("elements", name=profile.element, words=20), score + 0.08, reason)
    reason = f"{profile.long:.0%} of the documents are long"
    yield Move(Step.of("key_words", count=10), score - 0.05, reason + "; their usual words say what they are about")
    yield Move(Step.of("key_sentences", count=3), score - 0.08, reason + "; a few sentences say what they are about")


def _variants(profile: Profile, contrast: Contrast) -> Iterator[Move]:
    rates = {"identifiers": profile.identifiers, "hyphens": profile.hyphens, "letters": profile.letters}
    for name in ("identifiers", "hyphens", "letters", "numbers", "abbreviations", "compounds"):
        gain, rate = contrast.gains.get(name, 0.0), rates.get(name, 0.0)
        if rate > 0.2 or gain > 0.001:
            found = f"{rate:.1f} such words per 100; " if name in rates else ""
            reason = f"{found}{gain:.1%} of the query terms in missed documents would match"
            yield Move(Step.of(name), 0.15 + 0.02 * min(5.0, rate) + 5 * gain, reason)


def _aliases(profile: Profile) -> Iterator[Move]:
    """Other names, where records tell them and documents are called by a title."""
    if profile.aliases > 0.02 and (profile.titled > 0.5 or profile.title_field):
        reason = f"{profile.aliases:.0%} of the documents tell another name of what they are about"
        needs = () if profile.titled > 0.5 else (_plain_fields(profile),)
        step = Step.of("aliases", markup=profile.markup, names=list(profile.alias_fields))
        yield Move(step, 0.2 + 0.3 * profile.aliases, reason, needs)


def _refinements(recipe: Recipe) -> Iterator[Move]:
    """Other parameters for the steps that were adopted, one at a time."""
    for step in recipe.steps:
        for parameter, now, value in _others(step):
            reason = f"refines what was adopted: {parameter} {value} instead of {now}"
            yield Move(step.having(**{parameter: value}), _REFINED, reason)


def _explorations(found: Sequence[Move]) -> Iterator[Move]:
    """Other parameters for what was not adopted: worth a try when nothing better is left."""
    for move in found:
        for parameter, _, value in _others(move.step):
            reason = f"{move.reason}; with {parameter} {value}"
            step = move.step.having(**{parameter: value})
            yield replace(move, step=step, score=move.score - _LESS_LIKELY, reason=reason)


def _others(step: Step) -> Iterator[tuple[str, Any, Any]]:
    """Each parameter of a step with its value and another one of the grid."""
    transform = TRANSFORMS[step.transform]
    now = transform.complete(step.values)
    for parameter, values in transform.grid.items():
        for value in values:
            if value != now[parameter]:
                yield parameter, now[parameter], value


def _plain_fields(profile: Profile) -> Step:
    return Step.of("fields", markup=profile.markup, title=profile.title_field, dropped=[], repeated={})


def _kept(repeated: dict[str, int], name: str) -> dict[str, int]:
    return {other: times for other, times in repeated.items() if other != name}
