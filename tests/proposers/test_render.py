"""Programs rendered from recipes stand alone, say what they do and do what their transforms do."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.collection import Document
from autoindex_haystack.program import Program, check_source
from autoindex_haystack.proposers.builtin.library import ORDER, TRANSFORMS, compose, without
from autoindex_haystack.proposers.builtin.profile import HEADINGS, SPLITTERS
from autoindex_haystack.proposers.builtin.reading import read_recipe
from autoindex_haystack.proposers.builtin.recipe import Recipe, Step, literal
from autoindex_haystack.proposers.builtin.render import _SHARED, _definitions, render
from autoindex_haystack.proposers.builtin.transforms import fields, word_forms
from autoindex_haystack.proposers.builtin.trusted import load_trusted
from autoindex_haystack.retrieval.porter import porter_stem
from autoindex_haystack.sandbox import DocumentFile, ProgramRunner, check_stability

STEPS = {
    "boilerplate": Step.of("boilerplate", share=0.01),
    "fields": Step.of("fields", markup="record", title="Name", dropped=["Depends"], repeated={"Text": 2}),
    "markdown": Step.of("markdown"),
    "addresses": Step.of("addresses"),
    "labels": Step.of("labels", share=0.5),
    "repeated_lines": Step.of("repeated_lines"),
    "latex": Step.of("latex", spell=True),
    "metadata": Step.of("metadata", names=["section"]),
    "title": Step.of("title", times=2),
    "headings": Step.of("headings", kind="markdown"),
    "aliases": Step.of("aliases", markup="record", names=["Provides"]),
    "lead": Step.of("lead", words=5, times=1),
    "key_words": Step.of("key_words", count=2),
    "key_sentences": Step.of("key_sentences", count=1),
    "lead_chunk": Step.of("lead_chunk", words=5),
    "passages": Step.of("passages", words=8),
    "sections": Step.of("sections", words=2),
    "elements": Step.of("elements", name="item", words=1),
    "identifiers": Step.of("identifiers"),
    "hyphens": Step.of("hyphens"),
    "letters": Step.of("letters"),
    "numbers": Step.of("numbers"),
    "abbreviations": Step.of("abbreviations", documents=1),
    "compounds": Step.of("compounds", documents=1),
    "flatten": Step.of("flatten", most=2),
    "pad": Step.of("pad", share=0.9),
    "word_forms": Step.of("word_forms", documents=1, related=False),
}
DOCUMENTS = [
    Document(
        f"d{i}",
        f"Name: Tool {i}\nDepends: libc\nText: It connects well-known servers, parseHTML and café.\n\n# One\n\n"
        "See https://example.org. [1913 Webster] A data base is a database. Take 5 mg.\n\n# Two\n\nconnected "
        "connecting \\int words <item>one</item> <item>two</item> of the Transmission Control Protocol (TCP), "
        f"which TCP also known as reliable.\n\nrow {i} of it\nrow {i + 1} of it\nProvides: mail-agent" + " more" * i,
        {"title": "A title", "section": "net"} if i % 2 else {},
    )
    for i in range(12)
]


def run(source, documents=DOCUMENTS):
    with DocumentFile(documents) as file, ProgramRunner(Program(source), file) as runner:
        state = runner.calibrate()
        return runner.run().chunks, state


def test_every_transform_of_the_library_is_tested_here():
    assert set(STEPS) == set(TRANSFORMS)


@pytest.mark.parametrize("name", STEPS)
def test_a_single_transform_makes_a_program_that_runs_and_changes_the_text(name):
    recipe = Recipe((STEPS[name],))
    source = render(recipe)
    assert check_source(source) == []
    assert read_recipe(source) == recipe
    assert TRANSFORMS[name].idea(STEPS[name].values) in source
    chunks, _ = run(source)
    plain, _ = run(render(Recipe()))
    assert list(chunks.texts) != list(plain.texts)
    assert set(chunks.documents.tolist()) == set(range(len(DOCUMENTS)))


def test_all_transforms_together_run_and_depend_on_the_document_alone():
    source = render(compose(Recipe(), *STEPS.values()))
    assert check_source(source) == []
    _, state = run(source)
    assert set(state) == {"boilerplate", "labels", "aliases", "rarity", "abbreviations", "compounds", "length", "forms"}
    check_stability(Program(source), DOCUMENTS, state=state)


@pytest.mark.parametrize("name", STEPS)
def test_any_two_transforms_make_a_valid_program(name):
    for other in STEPS.values():
        recipe = compose(Recipe(), STEPS[name], other)
        source = render(recipe)
        assert check_source(source) == []
        compile(source, "program.py", "exec")
        assert read_recipe(source) == recipe


@pytest.mark.parametrize("markup", SPLITTERS)
def test_every_markup_is_parsed_by_the_program_as_by_the_library(markup):
    step = Step.of("fields", markup=markup, title="", dropped=[], repeated={})
    chunks, _ = run(render(Recipe((step,))))
    assert chunks.texts[0] == fields.join_fields(SPLITTERS[markup](DOCUMENTS[0].text), (), {})


@pytest.mark.parametrize("kind", HEADINGS)
def test_sections_and_headings_know_every_kind(kind):
    assert check_source(render(Recipe((Step.of("sections", kind=kind), Step.of("headings", kind=kind))))) == []
    assert f"{kind.upper()}_HEADING = " in render(Recipe((Step.of("headings", kind=kind),)))


def test_every_parameter_of_every_grid_renders():
    for name, step in STEPS.items():
        for parameter, values in TRANSFORMS[name].grid.items():
            for value in values:
                assert check_source(render(Recipe((step.having(**{parameter: value}),)))) == []


def test_an_empty_recipe_is_the_full_document():
    chunks, state = run(render(Recipe()))
    assert state == {}
    assert chunks.texts[1] == f"A title\n{DOCUMENTS[1].text}"
    assert chunks.texts[0] == DOCUMENTS[0].text


def test_a_program_contains_only_what_it_uses():
    source = render(Recipe((STEPS["lead"],)))
    assert "porter_stem" not in source
    assert "def windows" not in source
    assert "import re" not in source


def test_the_program_learns_the_same_forms_as_the_transform():
    _, state = run(render(Recipe((STEPS["word_forms"],))))
    texts = [f"{d.metadata['title']}\n{d.text}" if d.metadata else d.text for d in DOCUMENTS]
    assert state["forms"] == word_forms.learn_forms(texts, 4, 1, related=False)
    assert porter_stem("connecting") == porter_stem("connected")


def test_no_two_modules_of_the_library_define_the_same_name_differently():
    modules = {*_SHARED, *(module for transform in TRANSFORMS.values() for module in transform.modules)}
    seen = {}
    for module in modules:
        for name, source in _definitions(module).items():
            assert seen.setdefault(name, source) == source, name


def test_a_step_without_parameters_has_the_usual_ones():
    forms = TRANSFORMS["word_forms"]
    usual = forms.complete({})
    assert usual == {name: values[0] for name, values in forms.grid.items()}
    assert render(Recipe((Step.of("word_forms"),))).count("learn_forms(") == 2
    assert forms.idea({}) == forms.idea(usual)


def test_the_words_in_identifiers_have_forms_too():
    documents = [Document(f"d{i}", f"parse{word} x{i}") for i in range(3) for word in ("Flow", "Flows", "Flow flows")]
    step = Step.of("word_forms", documents=1, related=False)
    _, alone = run(render(Recipe((step,))), documents)
    _, state = run(render(compose(Recipe(), STEPS["identifiers"], step)), documents)
    assert "flow" not in alone["forms"]
    assert state["forms"]["flow"] == "flows"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
        max_leaves=10,
    )
)
def test_literals_are_read_back_as_they_were(value):
    assert ast.literal_eval(literal(value)) == value


def test_recipes_are_ordered_by_stage_and_replace_by_transform():
    recipe = compose(Recipe(), STEPS["word_forms"], STEPS["fields"])
    assert [step.transform for step in recipe.steps] == sorted(["word_forms", "fields"], key=ORDER.__getitem__)
    changed = compose(recipe, STEPS["word_forms"].having(most=2))
    assert changed.get("word_forms").values["most"] == 2
    assert without(changed, "word_forms") == Recipe((STEPS["fields"],))


@pytest.mark.parametrize("source", ["RECIPE = 3", "RECIPE = [(", "x = 1", "RECIPE = open('x')"])
def test_other_programs_have_no_recipe(source):
    assert read_recipe(source) == Recipe(base=source)


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (STEPS["fields"], "Depends: libc6, libgcc"),
        (STEPS["boilerplate"], "See the other page."),
        (STEPS["labels"], "[see there]"),
        (STEPS["addresses"], "https://example.org/a/page"),
    ],
)
def test_a_document_of_which_cleaning_leaves_nothing_is_indexed_whole(step, text):
    program = load_trusted(Recipe((step,)))
    documents = [Document(str(i), text) for i in range(20)]
    program.state = program.calibrate(documents)
    assert [chunk.text for chunk in program.preprocess(documents[:1])] == [text]
