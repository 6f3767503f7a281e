"""The library: what each transform contributes to a program, and which parameters are worth trying.

A transform writes lines into three places of a program: ``prepare`` (title and text of a document), ``represent`` (the
list of pieces that become chunks) and ``learn`` (what ``calibrate`` puts into the state). The functions that those
lines call come from :mod:`autoindex_haystack.proposers.builtin.transforms`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from autoindex_haystack.proposers.builtin.recipe import Recipe, Step, literal
from autoindex_haystack.proposers.builtin.transforms import (
    abbreviations,
    aliases,
    boilerplate,
    chapters,
    cleaning,
    code,
    compounds,
    fields,
    informative,
    latex,
    layout,
    lengths,
    numbers,
    pages,
    repetition,
    variants,
    word_forms,
)

PREPARED = "self.prepare(doc)[1]"
"""The text of a document in the expressions of what is learned."""

_NAMED = 10
"""Fields that a line names."""

Parameters = dict[str, Any]
Lines = Callable[[Parameters], list[str]]


def _nothing(_: Parameters) -> list[str]:
    return []


@dataclass(frozen=True)
class Transform:
    """A transform of the library.

    :param name: Its name in recipes.
    :param modules: Where its functions stand.
    :param says: One line that says what it does with these parameters.
    :param prepare: Lines that change ``title`` and ``text``.
    :param represent: Lines that change ``pieces``.
    :param learn: Expressions for the state by key, over ``docs`` (raw) or ``self.prepare(doc)``.
    :param shows: Makes the expression of a text into that of the text with what this transform adds, for the learning
        of later transforms: the words in identifiers have forms and parts too.
    :param grid: The values worth trying, by parameter, the usual one first; it stands where a step names none.
    """

    name: str
    modules: tuple[ModuleType, ...]
    says: Callable[[Parameters], str]
    prepare: Lines = _nothing
    represent: Lines = _nothing
    learn: Callable[[Parameters], dict[str, str]] = lambda _: {}
    shows: Callable[[Parameters, str], str] = lambda _, text: text
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def complete(self, values: Mapping[str, Any]) -> Parameters:
        """Returns parameters together with the usual values of those that are not named."""
        return {**{name: usual for name, (usual, *_) in self.grid.items()}, **values}

    def idea(self, values: Mapping[str, Any]) -> str:
        """Returns one line that says what the transform does with these parameters."""
        return self.says(self.complete(values))


def _fields_idea(p: Parameters) -> str:
    parts = []
    if p["dropped"]:
        more = len(p["dropped"]) - _NAMED
        parts.append("leave out " + ", ".join(p["dropped"][:_NAMED]) + (f" and {more} more" if more > 0 else ""))
    if p["repeated"]:
        parts.append("say " + ", ".join(f"{name} {times} times" for name, times in sorted(p["repeated"].items())))
    return f"read the {p['markup'].replace('_', ' ')} fields" + (": " if parts else "") + "; ".join(parts)


def _fields_prepare(p: Parameters) -> list[str]:
    lines = [f"fields = split_{p['markup']}(text)"]
    if p["title"]:
        lines.append(f"title = title or first_value(fields, {literal(p['title'])})")
    lines.append(f"text = join_fields(fields, {literal(tuple(p['dropped']))}, {literal(p['repeated'])})")
    return lines


def _texts(function: str, *more: Any) -> str:
    """The expression that learns from the prepared texts of the corpus."""
    arguments = "".join(f", {literal(value)}" for value in more)
    return f"{function}(({PREPARED} for doc in docs){arguments})"


def _identifiers(p: Parameters, text: str) -> str:
    return f"add_identifier_parts({text}{', digits=True' * p['digits']}{', dotted=True' * p['dotted']})"


def _heading(p: Parameters) -> str:
    return f"{p.get('kind', 'markdown').upper()}_HEADING"


def _aliases_learn(p: Parameters) -> dict[str, str]:
    given = "phrase_aliases(doc.text)"
    if p["names"]:
        given += f" + field_aliases(split_{p['markup']}(doc.text), {literal(tuple(p['names']))})"
    return {"aliases": f"learn_aliases((self.prepare(doc)[0], {given}) for doc in docs)"}


def _forms_idea(p: Parameters) -> str:
    forms = "the singular or plural" if p["stems"] == "plural" else f"up to {p['most']} other forms"
    where = f"each of the first {p['first']} words" if p["first"] else "each word"
    which = "" if p["related"] else ", related or not"
    often = ", once a document" if p["once"] else ""
    return f"add {forms} of {where} that {p['documents']} documents use{which}{often}"


def _forms_represent(p: Parameters) -> list[str]:
    function, more = ("add_missing_forms", "") if p["once"] else ("add_forms", "")
    if p["first"] and not p["once"]:
        function, more = "add_first_forms", f", {p['first']}"
    return [f'pieces = [{function}(piece, self.state["forms"]{more}) for piece in pieces]']


def _forms_learn(p: Parameters) -> dict[str, str]:
    return {"forms": _texts("learn_forms", p["most"], p["documents"], p["stems"], p["related"])}


_ALL = (
    Transform(
        "boilerplate",
        (boilerplate,),
        lambda p: f"leave out lines that {p['share']:.1%} of the documents share",
        prepare=lambda _: ['text = drop_lines(text, self.state["boilerplate"])'],
        learn=lambda p: {"boilerplate": f"learn_boilerplate((doc.text for doc in docs), {p['share']})"},
        grid={"share": (0.01, 0.05, 0.002)},
    ),
    Transform("fields", (fields, pages, code), _fields_idea, prepare=_fields_prepare),
    Transform(
        "markdown",
        (cleaning,),
        lambda _: "keep the readable words of Markdown links, macros and tags",
        prepare=lambda _: ["text = clean_markdown(text)"],
    ),
    Transform(
        "addresses",
        (cleaning,),
        lambda _: "leave out web addresses",
        prepare=lambda _: ["text = drop_addresses(text)"],
    ),
    Transform(
        "labels",
        (cleaning,),
        lambda p: f"leave out labels in brackets that {p['share']:.1%} of the documents share",
        prepare=lambda _: ['text = drop_labels(text, self.state["labels"])'],
        learn=lambda p: {"labels": f"learn_labels((doc.text for doc in docs), {p['share']})"},
        grid={"share": (0.002, 0.01)},
    ),
    Transform(
        "repeated_lines",
        (repetition,),
        lambda _: "leave out lines that repeat an earlier one but for numbers, case and punctuation",
        prepare=lambda _: ["text = drop_repeated_lines(text)"],
    ),
    Transform(
        "latex",
        (latex,),
        lambda p: "spell LaTeX commands and symbols as words" if p["spell"] else "leave out LaTeX commands",
        prepare=lambda p: [f"text = {'spell' if p['spell'] else 'strip'}_latex(text)"],
        grid={"spell": (True, False)},
    ),
    Transform(
        "metadata",
        (layout,),
        lambda p: "add the metadata fields " + ", ".join(p["names"]),
        represent=lambda p: [
            f"names = {literal(tuple(p['names']))}",
            'pieces[0] += "\\n" + metadata_text(doc.metadata.get(name) for name in names)',
        ],
    ),
    Transform(
        "title",
        (layout,),
        lambda p: f"say the title {p['times']} more times" if p["times"] > 1 else "say the title once more",
        represent=lambda p: [f'pieces[0] += "\\n" + repeat(title, {p["times"]})'],
        grid={"times": (1, 2, 4)},
    ),
    Transform(
        "headings",
        (chapters, layout),
        lambda p: "say the headings once more" if p["times"] == 1 else f"say the headings {p['times']} more times",
        represent=lambda p: [f'pieces[0] += "\\n" + repeat(headings(doc.text, {_heading(p)}), {p["times"]})'],
        grid={"times": (1, 2)},
    ),
    Transform(
        "aliases",
        (aliases, fields, pages, code),
        lambda p: "add the other names that records give for what a document is about",
        represent=lambda _: ['pieces[0] += other_names(title, self.state["aliases"])'],
        learn=_aliases_learn,
    ),
    Transform(
        "lead",
        (layout,),
        lambda p: f"say the first {p['words']} words again" + ("" if p["times"] == 1 else f" {p['times']} times"),
        represent=lambda p: [f'pieces[0] += "\\n" + repeat(lead(text, {p["words"]}), {p["times"]})'],
        grid={"words": (50, 25, 100), "times": (1, 2)},
    ),
    Transform(
        "key_words",
        (informative,),
        lambda p: f"say again the {p['count']} words that a document uses often and the corpus seldom",
        represent=lambda p: [f'pieces[0] += "\\n" + key_words(text, self.state["rarity"], {p["count"]})'],
        learn=lambda _: {"rarity": _texts("learn_rarity")},
        grid={"count": (10, 5, 20)},
    ),
    Transform(
        "key_sentences",
        (informative,),
        lambda p: (
            f"add a chunk of the title and the {p['count']} most informative sentences"
            if p["chunk"]
            else f"say the {p['count']} most informative sentences again"
        ),
        represent=lambda p: [
            f'best = "\\n".join(key_sentences(text, self.state["rarity"], {p["count"]}))',
            'pieces += [f"{title}\\n{best}"] if best else []' if p["chunk"] else 'pieces[0] += f"\\n{best}"',
        ],
        learn=lambda _: {"rarity": _texts("learn_rarity")},
        grid={"count": (3, 1, 6), "chunk": (False, True)},
    ),
    Transform(
        "lead_chunk",
        (layout,),
        lambda p: f"add a chunk of the title and the first {p['words']} words",
        represent=lambda p: [f'pieces.append(f"{{title}}\\n{{lead(text, {p["words"]})}}")'],
        grid={"words": (60, 30, 120)},
    ),
    Transform(
        "passages",
        (layout,),
        lambda p: f"add overlapping passages of {p['words']} words beside the whole document",
        represent=lambda p: [f"pieces += windows(text, title, {p['words']})"],
        grid={"words": (200, 100, 60, 400)},
    ),
    Transform(
        "sections",
        (chapters,),
        lambda p: f"add the sections of at least {p['words']} words beside the whole document",
        represent=lambda p: [f"pieces += sections(doc.text, title, {p['words']}, {_heading(p)})"],
        grid={"words": (30, 100)},
    ),
    Transform(
        "elements",
        (chapters,),
        lambda p: f"add each {p['name']} of at least {p['words']} words beside the whole document",
        represent=lambda p: [f"pieces += elements(doc.text, title, {literal(p['name'])}, {p['words']})"],
        grid={"words": (20, 60)},
    ),
    Transform(
        "identifiers",
        (variants,),
        lambda p: (
            "add the words of identifiers in camelCase and snake_case"
            + ", with digits" * p["digits"]
            + ", with dots" * p["dotted"]
        ),
        represent=lambda p: [f"pieces = [{_identifiers(p, 'piece')} for piece in pieces]"],
        shows=_identifiers,
        grid={"digits": (False, True), "dotted": (False, True)},
    ),
    Transform(
        "hyphens",
        (variants,),
        lambda _: "add hyphenated words as one word",
        represent=lambda _: ["pieces = [add_joined_hyphens(piece) for piece in pieces]"],
    ),
    Transform(
        "letters",
        (variants,),
        lambda _: "add words without accents and ligatures",
        represent=lambda _: ["pieces = [add_plain_letters(piece) for piece in pieces]"],
    ),
    Transform(
        "numbers",
        (numbers,),
        lambda _: "add other ways of writing numbers and quantities",
        represent=lambda _: ["pieces = [add_number_forms(piece) for piece in pieces]"],
    ),
    Transform(
        "abbreviations",
        (abbreviations,),
        lambda p: f"add abbreviations and their long forms that {p['documents']} documents define",
        represent=lambda _: ['pieces = [add_abbreviations(piece, self.state["abbreviations"]) for piece in pieces]'],
        learn=lambda p: {"abbreviations": _texts("learn_abbreviations", p["documents"])},
        grid={"documents": (2, 5)},
    ),
    Transform(
        "compounds",
        (compounds,),
        lambda p: f"add compounds in one word and in two where {p['documents']} documents write either",
        represent=lambda _: ['pieces = [add_compounds(piece, self.state["compounds"]) for piece in pieces]'],
        learn=lambda p: {"compounds": _texts("learn_compounds", p["documents"])},
        grid={"documents": (3, 10)},
    ),
    Transform(
        "flatten",
        (repetition,),
        lambda p: f"count each word at most {p['most']} times",
        represent=lambda p: [f"pieces = [flatten(piece, {p['most']}) for piece in pieces]"],
        grid={"most": (8, 4, 16)},
    ),
    Transform(
        "pad",
        (lengths,),
        lambda p: f"bring short documents up to the length that {p['share']:.0%} of the documents do not reach",
        represent=lambda p: [f'pieces[0] = pad(pieces[0], self.state["length"], {p["times"]})'],
        learn=lambda p: {"length": _texts("learn_length", p["share"])},
        grid={"share": (0.5, 0.75, 0.9, 0.25), "times": (1, 2)},
    ),
    Transform(
        "word_forms",
        (word_forms,),
        _forms_idea,
        represent=_forms_represent,
        learn=_forms_learn,
        grid={
            "most": (4, 2, 8),
            "documents": (3, 2, 5),
            "once": (False, True),
            "first": (0, 100, 30, 300),
            "related": (True, False),
            "stems": ("porter", "plural"),
        },
    ),
)

TRANSFORMS = {transform.name: transform for transform in _ALL}
"""Every transform by name."""

ORDER = {transform.name: place for place, transform in enumerate(_ALL)}
"""Where a transform stands in a recipe: what cleans comes before what adds, what adds forms comes last."""


def compose(recipe: Recipe, *steps: Step) -> Recipe:
    """Add steps to a recipe, each replacing the step of the same transform.

    :param recipe: The recipe.
    :param steps: The steps.
    :returns: The new recipe, in the order of the library.
    """
    return Recipe.of((*recipe.steps, *steps), ORDER, recipe.base)


def without(recipe: Recipe, transform: str) -> Recipe:
    """Returns a recipe without one of its transforms."""
    return replace(recipe, steps=tuple(step for step in recipe.steps if step.transform != transform))
