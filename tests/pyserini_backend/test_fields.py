"""Ids reach Lucene's fields in a form that it takes, that no two share, and that leads back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyserini_backend.fields import from_field, is_too_long, short_id, to_field

IDS = st.text(st.characters(codec=None) | st.sampled_from('\0\ud800json:"\\'))


@given(IDS, IDS)
def test_an_id_comes_back_and_no_two_share_a_form(one: str, other: str) -> None:
    for identifier in (one, f"json:{one}", to_field(one)):
        value = to_field(identifier)
        assert from_field(value) == identifier
        assert "\0" not in value
        value.encode("utf-8")
    assert (to_field(one) == to_field(other)) == (one == other)


@pytest.mark.parametrize("identifier", ["", "0001", "d#0", "é", "\U0001f600", "a b\nc", "x" * 30_000])
def test_ordinary_ids_stay_as_they_are(identifier: str) -> None:
    assert to_field(identifier) == short_id(identifier) == identifier


def test_an_id_that_is_too_long_gets_a_short_one_of_its_own() -> None:
    assert not is_too_long("é" * 16_000)
    assert is_too_long("é" * 16_001)
    first, second = short_id("x" * 40_000), short_id("x" * 40_001)
    assert len(first) < 100
    assert first != second
