"""The profile finds out what a corpus is like."""

import pytest

from autoindex_haystack.collection import Document
from autoindex_haystack.proposers.builtin.profile import Profile, profile_corpus, sample


def corpus(make, count=40, **metadata):
    return [Document(f"d{i}", make(i), {k: f"{v} {i}" for k, v in metadata.items()}) for i in range(count)]


@pytest.mark.parametrize(
    ("make", "markup", "title_field"),
    [
        (lambda i: f"<?xml?><doc><focus>Disease {i}</focus><answer>It is {i}.</answer></doc>", "xml", "focus"),
        (lambda i: f"---\ntitle: Page {i}\ntype: guide\n---\n\nBody {i}", "front_matter", "title"),
        (lambda i: f".T\nflow {i}\n.W\nthe words of {i}", "marked", "T"),
        (lambda i: f"Package: p{i}\nSection: net\nDescription: does {i}\n more", "record", "Package"),
        (lambda i: f"TI  - flow {i}\nAU  - smith\nAB  - the words of {i}", "tagged", "TI"),
        (lambda i: f".TH P{i} 1\n.SH NAME\nprog{i} \\- does\n.SH OPTIONS\n.TP\n.B -x\nhelps", "man", "title"),
        (lambda i: f"== Life {i} ==\nBorn.\n== Work ==\nWrote {i}.", "wiki", ""),
        (lambda i: f"# Guide {i}\n\nWords.\n\n## Usage\n\nRun it.", "markdown", "title"),
        (lambda i: f"---\ntype: x\n---\n# Guide {i}\n\nWords.\n\n## Usage\n\nRun it.", "markdown", "title"),
        (lambda i: f"def f{i}(a, b):\n    # adds {i}\n    return g(a, b)\n\nx = f{i}(1,\n    2)", "code", "signature"),
        (lambda i: f"int f{i}(int a) {{\n  /* adds */\n  return a + {i};\n}}\n", "code", "signature"),
        (lambda i: f"In the class of {i}, we: see much; and then go on (as said).\nMore prose here.", "", ""),
        (lambda i: f"Plain prose about topic {i}. Nothing else here.", "", ""),
    ],
)
def test_markup_and_the_naming_field_are_found(make, markup, title_field):
    profile = profile_corpus(corpus(make))
    assert (profile.markup, profile.title_field) == (markup, title_field)


def test_shares_tell_how_many_words_a_field_has():
    profile = profile_corpus(corpus(lambda i: f"Name: n{i}\nText: {'word ' * 8}\nKind: x"))
    assert profile.field_shares["Text"] == pytest.approx(0.8)


def test_documents_with_titles_need_no_naming_field():
    profile = profile_corpus(corpus(lambda i: f"Package: p{i}\nSection: a\nDepends: b", title="Tool"))
    assert profile.titled == 1.0
    assert profile.title_field == ""


def test_a_few_odd_documents_do_not_hide_the_markup():
    documents = corpus(lambda i: "prose" if i % 5 == 0 else f"A: {i}\nB: x\nC: y")
    assert profile_corpus(documents).markup == "record"


def test_rates_are_measured():
    text = (
        "parseHtml uses well-known naïve \\alpha code at https://example.org/x [link](https://example.org)\n# A\n# B\n"
    )
    profile = profile_corpus(corpus(lambda _: text * 20))
    for name in ("identifiers", "hyphens", "letters", "latex", "addresses", "markdown", "headings", "long"):
        assert getattr(profile, name) > 0, name


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# One\nx\n# Two\ny", "markdown"),
        ("One\n===\nx\nTwo\n===\ny", "underlined"),
        ("Article 1 Scope\nx\nArticle 2 Terms\ny", "numbered"),
        ("def one():\n    run(1)\n\ndef two():\n    run(2)", "code"),
    ],
)
def test_the_kind_of_headings_is_found(text, kind):
    profile = profile_corpus(corpus(lambda _: text))
    assert (profile.heading, profile.headings) == (kind, 1.0)


def test_elements_that_documents_have_several_of_are_found():
    answer = f"<a>{'word ' * 20}</a>"
    profile = profile_corpus(corpus(lambda i: f"<d><focus>D{i}</focus><qa>{answer}</qa><qa>{answer}</qa></d>"))
    assert profile.element == "qa"


def test_other_names_labels_and_repeated_lines_are_measured():
    profile = profile_corpus(corpus(lambda i: f"Name: n{i}\nSynonyms: m{i}\nText: x [1913 Webster]\nrow 1\nrow 2"))
    assert profile.alias_fields == ("Synonyms",)
    assert profile.aliases == 1.0
    assert profile.labels > 0.1
    assert profile.repeated_lines > 0.05


def test_a_pronunciation_is_no_latex():
    assert profile_corpus(corpus(lambda i: f"Abat{i} \\A*bat\\ \\Bat\\ a word")).latex == 0.0
    assert profile_corpus(corpus(lambda i: f"so \\frac{{{i}}}{{2}} ∈ x")).latex > 10


def test_boilerplate_is_measured():
    assert profile_corpus(corpus(lambda i: f"All rights reserved.\nn{i}")).boilerplate > 0.5
    assert profile_corpus(corpus(lambda i: f"own line {i}")).boilerplate == 0.0


def test_metadata_fields_are_listed_without_the_title():
    assert profile_corpus(corpus(str, title="t", section="s")).metadata == ("section",)


def test_a_sample_is_even_and_a_small_corpus_is_taken_whole():
    documents = corpus(str, 1_000)
    assert len(sample(documents, 100)) == 100
    assert sample(documents, 100)[1].doc_id == "d10"
    assert len(sample(documents[:7])) == 7


def test_empty_documents_make_a_plain_profile():
    assert profile_corpus(corpus(lambda _: "")) == Profile()


def test_a_heading_of_a_single_page_is_no_field_of_the_corpus():
    def page(i):
        return ".TH tool 8\n.SH DESCRIPTION\nIt runs.\n.SH OPTIONS\nNone." + "\n.SH ODD\nlong words" * 50 * (i == 3)

    assert set(profile_corpus(corpus(page, 100)).field_shares) == {"title", "description", "options"}


def test_a_sketch_is_that_of_the_texts_whatever_their_order_and_number():
    def texts(numbers):
        return [Document(f"x{i}", f"text {i} " + "with words enough to be told from others " * 2) for i in numbers]

    whole = profile_corpus(texts(range(300))).sketch
    assert profile_corpus(texts(range(299, -1, -1)) * 2).sketch == whole
    assert whole & profile_corpus(texts(range(0, 300, 3))).sketch
    assert not whole & profile_corpus(texts(range(300, 600))).sketch
