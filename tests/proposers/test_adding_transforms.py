"""Transforms that add what a text says in another way or weight what says most, and those that take repetition out."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack.proposers.builtin.transforms import (
    abbreviations,
    aliases,
    compounds,
    informative,
    latex,
    numbers,
    repetition,
    variants,
)


class TestIdentifiers:
    def test_identifiers_with_digits_are_split_when_asked_for(self):
        assert variants.add_identifier_parts("python3 and sha256sum", digits=True).endswith("\npython 3 sha 256 sum")
        assert variants.add_identifier_parts("python3 and sha256sum") == "python3 and sha256sum"

    def test_dotted_names_are_split_when_asked_for(self):
        text = "call os.path, std::map and a->next. See e.g. 3.14"
        assert variants.add_identifier_parts(text, dotted=True) == f"{text}\nos path std map a next e g"
        assert variants.add_identifier_parts(text) == text

    @given(st.lists(st.from_regex(r"[A-Za-z0-9_.(]{1,12}", fullmatch=True), max_size=8).map(" ".join))
    def test_looking_at_odd_words_alone_finds_every_identifier(self, text):
        parts = [p for name in variants.IDENTIFIER.findall(text) for p in variants.IDENTIFIER_PART.findall(name)]
        assert variants.add_identifier_parts(text) == (f"{text}\n{' '.join(parts)}" if parts else text)


class TestNumbers:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("take 5 mg daily", {"milligram", "5mg"}),
            ("take 5mg daily", {"milligram", "mg"}),
            ("five or 250 milligrams", {"mg", "250mg"}),
            ("paid 12,500 pounds", {"12500", "lb", "12,500lb"}),
            ("the twelve", {"12"}),
            ("the 2nd of 20", {"second", "twenty"}),
            ("nothing to add", set()),
        ],
    )
    def test_other_ways_of_writing_are_added(self, text, expected):
        added = numbers.add_number_forms(text)
        assert added.startswith(text)
        assert set(added[len(text) :].split()) == expected


class TestAbbreviations:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("the Transmission Control Protocol (TCP) is", [("TCP", "transmission control protocol")]),
            ("by magnetic resonance imaging (MRI)", [("MRI", "magnetic resonance imaging")]),
            ("(WHO) first", []),
            ("see page four (IV)", []),
            ("no parentheses", []),
        ],
    )
    def test_definitions_are_recognized_by_their_letters(self, text, found):
        assert abbreviations.definitions(text) == found

    def test_each_form_gets_the_other_one(self):
        learned = abbreviations.learn_abbreviations(["the Transmission Control Protocol (TCP)"] * 2, 2)
        assert abbreviations.add_abbreviations("a TCP port", learned).endswith("\ntransmission control protocol")
        assert abbreviations.add_abbreviations("transmission control protocol port", learned).endswith("\nTCP")
        assert abbreviations.add_abbreviations("a UDP port", learned) == "a UDP port"

    def test_short_forms_are_found_in_any_punctuation_and_number(self):
        assert abbreviations.short_forms("(TCP), the UDPs' ports; IPv4 and IO. A Word i") == ["TCP", "UDP", "IO"]

    def test_a_definition_that_one_document_has_alone_serves_this_document_alone(self):
        text = "the Border Gateway Protocol (BGP)"
        learned = abbreviations.learn_abbreviations([text], 2)
        assert abbreviations.add_abbreviations("BGP", learned) == "BGP"
        assert abbreviations.add_abbreviations(f"{text}. BGP", learned).count("border gateway protocol") == 2


class TestAliases:
    def test_names_after_the_usual_phrases_are_found(self):
        text = "Varicella, also known as chickenpox or water pox, is"
        assert aliases.phrase_aliases(text)[:2] == ["chickenpox", "water pox"]
        assert aliases.phrase_aliases("Syn: lauryl alcohol") == ["lauryl alcohol"]

    def test_fields_hold_names(self):
        record = [("Focus", "Celiac"), ("Synonym", "Coeliac\n disease"), ("Synonym", " ")]
        assert aliases.field_aliases(record, ["Synonym"]) == ["Coeliac disease"]

    def test_every_name_of_a_thing_brings_all_the_others(self):
        learned = aliases.learn_aliases([("Celiac", ["Sprue", "Coeliac"]), ("Celiac", ["CD"]), ("Alone", [])])
        assert aliases.other_names("celiac", learned).split() == ["Sprue", "Coeliac", "CD"]
        assert aliases.other_names("SPRUE", learned).split() == ["Celiac", "Coeliac"]
        assert aliases.other_names("Alone", learned) == ""


class TestInformative:
    TEXTS = ("the flow of air. the boundary layer grows.", "the price of the house.", "the flow of the price.")

    def test_words_of_few_documents_are_rare_and_unknown_ones_rarest(self):
        rarity = informative.learn_rarity(self.TEXTS)
        assert rarity["the"] < rarity["flow"] < rarity[""]

    def test_key_words_are_frequent_here_and_rare_elsewhere(self):
        rarity = informative.learn_rarity(self.TEXTS)
        assert informative.key_words("the layer the layer the flow once", rarity, 1) == "layer"

    def test_key_sentences_keep_their_order_and_short_texts_have_none(self):
        rarity = informative.learn_rarity(self.TEXTS)
        text = "Of the price. Boundary layers grow near boundary walls. The of the. Boundary layers grow."
        best = ["Boundary layers grow near boundary walls.", "Boundary layers grow."]
        assert informative.key_sentences(text, rarity, 2) == best
        assert informative.key_sentences("One sentence. Two.", rarity, 2) == []


class TestRepetition:
    @given(st.lists(st.sampled_from(["aa", "bb", "cc"]), max_size=30), st.integers(1, 5))
    def test_flattened_texts_have_each_word_as_often_as_allowed(self, found, most):
        counts = Counter(repetition.flatten(" ".join(found), most).split())
        assert counts == {word: min(n, most) for word, n in Counter(found).items()}

    def test_lines_that_differ_in_numbers_and_case_alone_are_dropped(self):
        text = "Row 1: ok\nother\n\nROW 2 : OK\n\nrow 3; ok\nlast"
        assert repetition.drop_repeated_lines(text) == "Row 1: ok\nother\n\n\nlast"

    @given(st.lists(st.from_regex(r"[a-z]{1,5}", fullmatch=True), unique=True, max_size=20))
    def test_what_repeats_nothing_stays(self, lines):
        assert repetition.drop_repeated_lines("\n".join(lines)) == "\n".join(lines)


class TestCompounds:
    TEXTS = ("a data base", "the data base", "one database", "a database", "data", "base", "a notebook", "notebook")

    def test_compounds_are_written_both_ways_in_the_corpus(self):
        assert compounds.learn_compounds(self.TEXTS, 2) == {
            "parts": {"database": "data base"},
            "wholes": {"data base": "database"},
        }

    def test_each_way_of_writing_gets_the_other(self):
        learned = compounds.learn_compounds(self.TEXTS, 2)
        assert compounds.add_compounds("a Data base", learned).endswith("\ndatabase")
        assert compounds.add_compounds("our database", learned).endswith("\ndata base")
        assert compounds.add_compounds("data in a base", learned) == "data in a base"


class TestLatex:
    def test_commands_and_symbols_get_their_words_and_layout_vanishes(self):
        found = latex.spell_latex(r"$\int_0^1 \alpha \mathrm{d}x$ ∀x").split()
        assert {"int", "alpha", "for", "all"} <= set(found)
        assert any("integral" in word for word in found)
        assert "mathrm" not in found

    def test_commands_are_left_out_and_their_arguments_stay(self):
        assert latex.strip_latex(r"a \textbf{bold} claim $x$").split() == ["a", "bold", "claim", "x"]

    def test_a_pronunciation_is_no_latex(self):
        assert latex.is_latex("frac")
        assert not latex.is_latex("Abat")

    @given(st.text(max_size=200))
    def test_any_text_is_accepted(self, text):
        assert isinstance(latex.spell_latex(text), str)
        assert isinstance(latex.strip_latex(text), str)
