"""The split: a third for validation, equal texts together, seeded, independent of the order of the file."""

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from autoindex_haystack.collection import Collection, Split, load_collection, load_split, make_split
from autoindex_haystack.errors import CollectionError, RunError


def collection_of(queries: dict[str, str]) -> Collection:
    return Collection("small", [], queries, {query: {"d": 1} for query in queries})


NUMBERED = collection_of({f"q{i}": f"query {i}" for i in range(30)})


@given(st.integers(3, 200), st.integers(0, 5))
def test_validation_has_the_whole_part_of_a_third_when_all_texts_differ(count, seed):
    split = make_split(collection_of({f"q{i}": f"text {i}" for i in range(count)}), seed)
    assert len(split.validation) == count // 3
    assert len(split.held_out) == count - count // 3


@given(st.lists(st.sampled_from("abcdefghij"), min_size=3, max_size=60), st.integers(0, 3), st.randoms())
def test_equal_texts_stay_together_and_the_order_of_the_file_does_not_matter(texts, seed, random):
    queries = {f"q{i}": text for i, text in enumerate(texts)}
    try:
        split = make_split(collection_of(queries), seed)
    except CollectionError:
        assume(False)
    assert not {queries[q] for q in split.validation} & {queries[q] for q in split.held_out}
    assert sorted(split.validation + split.held_out) == sorted(queries)
    assert 0 < len(split.validation) <= len(queries) // 3
    shuffled = list(queries.items())
    random.shuffle(shuffled)
    again = make_split(collection_of(dict(shuffled)), seed)
    assert set(again.validation) == set(split.validation)


def test_a_seed_gives_the_same_split_again_and_another_seed_another():
    assert make_split(NUMBERED, 1) == make_split(NUMBERED, 1)
    splits = {make_split(NUMBERED, seed).validation for seed in range(5)}
    assert len(splits) == 5


def test_the_split_of_a_seed_never_changes():
    """Files written with an older version, and figures published with them, would otherwise mean something else."""
    assert make_split(NUMBERED, 0).validation == ("q1", "q5", "q9", "q15", "q16", "q19", "q21", "q22", "q23", "q26")


@pytest.mark.parametrize("queries", [{"a": "x", "b": "y"}, dict.fromkeys("abcdef", "the same")])
def test_too_few_different_queries_cannot_be_split(queries):
    with pytest.raises(CollectionError, match="too few to split"):
        make_split(collection_of(queries))


def test_a_split_is_written_and_read_back_also_from_a_run_folder(tmp_path):
    split = make_split(NUMBERED, 7)
    split.save(tmp_path / "deep" / "split.json")
    assert load_split(tmp_path / "deep" / "split.json", NUMBERED) == split
    assert load_split(tmp_path / "deep", NUMBERED) == load_split(str(tmp_path / "deep"), NUMBERED) == split
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["split.json"]


def test_a_split_made_by_hand_may_leave_queries_out(tmp_path):
    path = tmp_path / "split.json"
    path.write_text(json.dumps({"collection": "mine", "validation": ["q1"], "held_out": ["q2", "q3"]}))
    split = load_split(path, NUMBERED)
    assert (split.validation, split.held_out, split.seed) == (("q1",), ("q2", "q3"), None)


def fields(**changed: object) -> str:
    return json.dumps({"collection": "x", "validation": ["q1"], "held_out": ["q2"]} | changed)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is no split file"),
        ("{", "is no split file"),
        ("\udcff", "is no split file"),
        ('{"query": 1}', "is no split file"),
        (fields(extra=1), "is no split file"),
        (fields(format_version=2), "has split format 2"),
        (fields(validation=["q1", "nobody"]), "1 query is not judged in small, the first is 'nobody'"),
        (fields(held_out=["q2", "q1"]), "a query stands in both parts or twice"),
        (fields(held_out=["q2", "q2"]), "a query stands in both parts or twice"),
        (fields(validation=[]), "both validation and held_out need at least one query"),
        (fields(held_out=[]), "both validation and held_out need at least one query"),
    ],
)
def test_a_wrong_split_file_is_refused(tmp_path, content, message):
    path = tmp_path / "split.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(CollectionError, match=message):
        load_split(path, NUMBERED)


def test_a_missing_split_file_is_refused(tmp_path):
    with pytest.raises(CollectionError, match="does not exist; write a split with `autoindex split`"):
        load_split(tmp_path / "split.json", NUMBERED)


def test_a_split_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot write"):
        make_split(NUMBERED).save(tmp_path / "file" / "split.json")


def test_a_real_collection_is_split_one_to_two(collection_folder, tmp_path):
    collection = load_collection(collection_folder("cranfield"))
    split = make_split(collection)
    assert (len(split.validation), len(split.held_out)) == (75, 150)
    split.save(tmp_path / "split.json")
    assert Split.model_validate_json((tmp_path / "split.json").read_bytes()) == split
