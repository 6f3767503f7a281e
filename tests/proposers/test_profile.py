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
