"""Each transform does what its docstring says, on real-looking text and on any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.proposers.builtin.transforms import (
    boilerplate,
    cleaning,
    fields,
    irregular,
    layout,
    lengths,
    variants,
    word_forms,
    words,
)
from autoindex_haystack.retrieval.analyzers import tokenize

DEB822 = "Package: feed\nDepends: libc6,\n libgcc\nDescription: a reader\n of news feeds\n"
XML = '<?xml version="1.0"?><doc id="7"><!-- none --><title>Celiac &amp; you</title><p>No <b>gluten</b>.</p></doc>'
MARKED = ".T\nflow past a plate\n.A\nsmith\n.W\nthe flow\nis slow\n"
PAGE = "---\ntitle: Flex box\nslug: Web/Flex\n---\n\n# Flex\n\nBoxes."

any_text = st.text(max_size=300)


class TestFields:
    def test_record_values_go_on_over_indented_lines(self):
        assert fields.split_record(DEB822) == [
            ("Package", "feed"),
            ("Depends", "libc6,\nlibgcc"),
            ("Description", "a reader\nof news feeds"),
        ]

    def test_record_lines_without_a_key_are_body(self):
        assert fields.split_record("just text\nKey: value") == [("body", "just text"), ("Key", "value")]

    def test_xml_text_is_named_by_its_element_and_unescaped(self):
        assert fields.split_xml(XML) == [
            ("title", "Celiac & you"),
            ("p", "No"),
            ("b", "gluten"),
            ("p", "."),
        ]

    def test_xml_leaves_scripts_out(self):
        assert fields.split_xml("<html><script>var x = 1</script><p>text</p></html>") == [("p", "text")]

    def test_marked_fields_are_named_by_their_letter(self):
        assert fields.split_marked(MARKED) == [("T", "flow past a plate"), ("A", "smith"), ("W", "the flow\nis slow")]

    def test_front_matter_is_read_and_the_page_is_body(self):
        assert fields.split_front_matter(PAGE) == [
            ("title", "Flex box"),
            ("slug", "Web/Flex"),
            ("body", "\n# Flex\n\nBoxes."),
        ]

    def test_a_page_without_front_matter_is_body(self):
        assert fields.split_front_matter("# Only a heading") == [("body", "# Only a heading")]

    def test_join_leaves_out_and_repeats(self):
        joined = fields.join_fields([("a", "x"), ("b", "y"), ("c", "z")], ["b"], {"c": 2})
        assert joined == "x\nz\nz"

    def test_first_value_is_one_line_without_quotes(self):
        assert fields.first_value([("t", '"A\n title"'), ("t", "another")], "t") == "A title"
        assert fields.first_value([], "t") == ""

    @given(any_text)
    def test_any_text_keeps_its_words_when_nothing_is_left_out(self, text):
        for split in (fields.split_record, fields.split_marked):
            labels = {name.lower() for name, _ in split(text)}
            kept = tokenize(fields.join_fields(split(text), (), {}))
            assert [t for t in tokenize(text) if t not in labels] == [t for t in kept if t not in labels]


class TestWords:
    @given(st.text(max_size=200) | st.text(st.characters(max_codepoint=127), max_size=200))
    def test_words_are_what_the_retriever_counts_before_stop_words(self, text):
        assert [w for w in words.words_of(text) if len(w) > 1] == words.WORD.findall(text.lower())


class TestWordForms:
    TEXTS = ("he connects it", "connected well", "connecting", "connected", "the connection", "a connection", "unique")

    def test_forms_share_a_stem_and_are_used_by_enough_documents(self):
        forms = word_forms.learn_forms(self.TEXTS, 4, 2, related=False)
        assert forms["connects"] == "connected connection"
        assert forms["connected"] == "connection"
        assert "unique" not in forms

    def test_most_limits_the_number_of_forms(self):
        assert word_forms.learn_forms(self.TEXTS, 1, 2, related=False)["connects"] == "connected"

    def test_related_forms_meet_in_documents_more_often_than_by_chance(self):
        texts = ["a flow that flows", "its flow flows", "the organ", "an organ", "organization", "an organization"]
        assert word_forms.learn_forms(texts, 4, 1) == {"flow": "flows", "flows": "flow"}
        assert "organ" in word_forms.learn_forms(texts, 4, 1, related=False)

    def test_plural_joins_nothing_but_singular_and_plural(self):
        texts = ["cell cells cellular", "cell cells celled"]
        assert word_forms.learn_forms(texts, 4, 1, "plural") == {"cell": "cells", "cells": "cell"}

    def test_irregular_forms_and_the_other_spelling_bring_their_own_forms(self):
        texts = ["mice", "a mouse", "colour", "colours", "color", "colors", "matrix", "matrices"]
        forms = word_forms.learn_forms(texts, 4, 1, related=False)
        assert forms["mice"] == "mouse"
        assert set(forms["colours"].split()) == {"colour", "color", "colors"}
        assert forms["matrix"] == "matrices"

    def test_forms_depend_on_neither_order_nor_hash_seed_of_the_texts(self):
        texts = ["flow flows flowing", "flowed flow", "flows flowing", "flowed"]
        assert word_forms.learn_forms(texts, 4, 1) == word_forms.learn_forms(texts[::-1], 4, 1)

    def test_every_occurrence_is_followed_by_its_forms(self):
        assert word_forms.add_forms("Cat cat dog", {"cat": "cats"}) == "Cat cat dog\ncats cats"

    def test_forms_of_the_first_words_alone(self):
        assert word_forms.add_first_forms("cat dog cat", {"cat": "cats", "dog": "dogs"}, 2) == "cat dog cat\ncats dogs"

    def test_missing_forms_are_added_once(self):
        assert word_forms.add_missing_forms("cat cat dogs", {"cat": "cats", "dogs": "dog"}) == "cat cat dogs\ncats dog"
        assert word_forms.add_missing_forms("cat cats", {"cat": "cats", "cats": "cat"}) == "cat cats"

    def test_a_table_that_is_too_large_keeps_the_most_frequent_words(self, monkeypatch):
        monkeypatch.setattr(word_forms, "MOST_FORMS_BYTES", 30)
        assert list(word_forms.keep_most_frequent({"bb": "b", "aa": "a", "cc": "c"}, ["cc", "aa", "bb"])) == [
            "cc",
            "aa",
        ]

    @given(any_text)
    def test_text_stays_as_it_is_in_front(self, text):
        assert word_forms.add_forms(text, {"aa": "bb"}).startswith(text)


class TestIrregular:
    @pytest.mark.parametrize(
        ("british", "american"),
        [
            ("analyse", "analyze"),
            ("organisation", "organization"),
            ("behaviour", "behavior"),
            ("centre", "center"),
            ("catalogue", "catalog"),
            ("defence", "defense"),
            ("travelling", "traveling"),
            ("haemoglobin", "hemoglobin"),
            ("programme", "program"),
        ],
    )
    def test_british_words_in_american_spelling(self, british, american):
        assert irregular.american(british) == american

    @pytest.mark.parametrize("word", ["hour", "four", "filling", "shoes", "does", "colors", "store", "more"])
    def test_words_of_one_spelling_stay(self, word):
        assert irregular.american(word) == word or irregular.american(word) not in {"filing", "shes", "des"}


class TestLengths:
    def test_the_length_is_a_quantile(self):
        texts = ["w " * n for n in range(1, 11)]
        assert [lengths.learn_length(texts, share) for share in (0.0, 0.5, 1.0)] == [1, 6, 10]
        assert lengths.learn_length([], 0.5) == 0

    def test_short_texts_are_filled_up_and_long_ones_stay(self):
        assert len(tokenize(lengths.pad("two words", 5, 1))) == 5
        assert len(tokenize(lengths.pad("two words", 5, 2))) == 8
        assert lengths.pad("a text of five words", 5, 2) == "a text of five words"


class TestCleaning:
    def test_markdown_keeps_what_readers_see(self):
        page = '[flex box](/en/Flex "title") uses {{domxref("Element.style", "style")}}, <kbd>x</kbd> https://a.b/c?d'
        words = tokenize(cleaning.clean_markdown(page))
        assert words == ["flex", "box", "uses", "element", "style", "style"]

    def test_labels_in_brackets_that_many_documents_share_vanish(self):
        texts = [f"word {i} [1913 Webster] [own {i}]" for i in range(20)]
        labels = cleaning.learn_labels(texts, 0.5)
        assert labels == {"[1913 Webster]": 20}
        assert cleaning.drop_labels(texts[3], labels).split() == ["word", "3", "[own", "3]"]

    def test_addresses_vanish(self):
        assert cleaning.drop_addresses("see https://example.org/a_b?c=d now").split() == ["see", "now"]

    @given(any_text)
    def test_any_text_is_accepted(self, text):
        for clean in (cleaning.clean_markdown, cleaning.drop_addresses):
            assert isinstance(clean(text), str)


class TestBoilerplate:
    def test_lines_that_many_documents_share_are_found(self):
        texts = [f"All rights reserved.\nDocument {i}" for i in range(20)]
        assert boilerplate.learn_boilerplate(texts, 0.5) == {"All rights reserved.": 20}

    def test_a_line_repeated_in_one_document_is_none(self):
        assert boilerplate.learn_boilerplate(["same\n" * 50, *map(str, range(30))], 0.01) == {}

    def test_lines_are_dropped_whatever_their_indent(self):
        assert boilerplate.drop_lines("a\n  menu \nb", {"menu"}) == "a\nb"


class TestVariants:
    def test_identifiers_are_split_and_kept(self):
        added = variants.add_identifier_parts("OrderedDict and HTTPServer, max_chunk_size; plain words")
        assert added.split("\n")[1] == "Ordered Dict HTTP Server max chunk size"
        assert variants.add_identifier_parts("plain words only") == "plain words only"

    def test_hyphens_are_joined(self):
        assert variants.add_joined_hyphens("a pre-processing step").endswith("\npreprocessing")

    def test_accents_and_decomposed_letters_get_both_forms(self):
        assert variants.add_plain_letters("Gödel").endswith("\nGodel")
        assert set(variants.add_plain_letters("cafe\u0301").split("\n")[1].split()) == {"café"}
        assert variants.add_plain_letters("ascii") == "ascii"

    @given(any_text)
    def test_text_stays_as_it_is_in_front(self, text):
        for add in (variants.add_identifier_parts, variants.add_joined_hyphens, variants.add_plain_letters):
            assert add(text).startswith(text)


class TestLayout:
    def test_windows_overlap_by_half_and_cover_the_text(self):
        words = [f"w{i}" for i in range(25)]
        pieces = layout.windows(" ".join(words), "T", 10)
        assert all(piece.startswith("T\n") for piece in pieces)
        assert {word for piece in pieces for word in piece.split()[1:]} == set(words)
        assert pieces[1].split()[1:6] == pieces[0].split()[6:]

    def test_short_texts_have_no_windows(self):
        assert layout.windows("a b c", "T", 10) == []

    def test_lead_repeat_and_metadata(self):
        assert layout.lead("a b  c d", 2) == "a b"
        assert layout.repeat("x", 2) == "x\nx"
        assert layout.repeat("", 3) == ""
        assert layout.metadata_text(["a", ["b", 3], None, True, {"k": 1}]) == "a\nb\n3"
