"""A chunk carries its document: whatever the meta holds, the original comes back exactly."""

from copy import deepcopy

from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from haystack_integrations.common.autoindex import (
    BEST_CHUNK,
    PROGRAM_SHA256,
    SOURCE_CONTENT,
    SOURCE_ID,
    SOURCE_META,
    SPLIT_COUNT,
    SPLIT_ID,
    make_chunks,
    restore_source,
    source_id_of,
    stale_chunk_ids,
)

RESERVED = (SOURCE_ID, SPLIT_ID, PROGRAM_SHA256, SPLIT_COUNT, SOURCE_CONTENT, SOURCE_META)
KEYS = st.sampled_from([*RESERVED, "title", "page"]) | st.text(max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
METAS = st.dictionaries(KEYS.filter(lambda key: key != BEST_CHUNK), VALUES, max_size=5)


@given(meta=METAS, own=st.lists(st.none() | METAS, min_size=1, max_size=3), content=st.none() | st.text(max_size=5))
def test_the_original_comes_back_from_its_chunks(meta, own, content) -> None:
    source = Document(id="doc", content=content, meta=deepcopy(meta))
    chunks = make_chunks(source, [f"text {i}" for i in range(len(own))], own, "hash")
    restored = restore_source(chunks[0], chunks[-1], 1.5)
    found = restored.meta.pop(BEST_CHUNK)
    assert (restored.id, restored.content, restored.meta, restored.score) == ("doc", content, meta, 1.5)
    last = len(own) - 1
    assert found == {"id": f"doc#{last}", "content": f"text {last}", "split_id": last, "score": 1.5}
    assert source.meta == meta


@given(meta=METAS, own=METAS)
def test_nothing_overrides_the_reserved_keys(meta, own) -> None:
    first, second = make_chunks(Document(id="doc", content="text", meta=meta), ["a", "b"], [own, own], "hash")
    for split_id, chunk in enumerate((first, second)):
        assert {key: chunk.meta[key] for key in (SOURCE_ID, SPLIT_ID, PROGRAM_SHA256)} == {
            SOURCE_ID: "doc",
            SPLIT_ID: split_id,
            PROGRAM_SHA256: "hash",
        }
        assert {**meta, **own}.items() <= {**chunk.meta, **{key: {**meta, **own}.get(key) for key in RESERVED}}.items()
    assert (first.meta[SOURCE_CONTENT], first.meta[SPLIT_COUNT]) == ("text", 2)
    assert not {SOURCE_CONTENT, SOURCE_META, SPLIT_COUNT} & second.meta.keys()


def test_the_original_meta_is_kept_twice_only_where_it_must_be() -> None:
    source = Document(id="doc", content="text", meta={"title": "T", "page": 3})
    [plain] = make_chunks(source, ["a"], [None], "hash")
    [repeated] = make_chunks(source, ["a"], [{"title": "T"}], "hash")
    [added] = make_chunks(source, ["a"], [{"section": 1}], "hash")
    assert SOURCE_META not in plain.meta
    assert SOURCE_META not in repeated.meta
    assert added.meta[SOURCE_META] == {"title": "T", "page": 3}
    assert added.meta["section"] == 1


def test_a_value_that_is_equal_but_of_another_type_comes_back_as_it_was() -> None:
    source = Document(id="doc", content="text", meta={"n": 1})
    [chunk] = make_chunks(source, ["a"], [{"n": True}], "hash")
    assert chunk.meta["n"] is True
    assert type(restore_source(chunk, chunk, 1.0).meta["n"]) is int


def test_chunks_share_nothing_with_their_document_or_each_other() -> None:
    source = Document(id="doc", content="text", meta={"tags": ["a"], SPLIT_ID: {"x": 1}})
    first, second = make_chunks(source, ["a", "b"], [None, None], "hash")
    first.meta["tags"].append("changed")
    first.meta[SOURCE_META][SPLIT_ID]["x"] = 2
    assert source.meta == {"tags": ["a"], SPLIT_ID: {"x": 1}}
    assert second.meta["tags"] == ["a"]


def test_a_document_without_source_id_stands_for_itself() -> None:
    document = Document(id="doc", content="text", meta={"page": 1}, embedding=[0.5])
    restored = restore_source(document, document, 2.0)
    assert source_id_of(document) == "doc"
    assert restored.meta.pop(BEST_CHUNK)["id"] == "doc"
    assert (restored.id, restored.content, restored.meta, restored.embedding) == ("doc", "text", {"page": 1}, [0.5])


def test_a_chunk_of_another_splitter_stands_for_its_document() -> None:
    chunks = [Document(id=f"c{i}", content=f"part {i}", meta={SOURCE_ID: "doc", SPLIT_ID: i}) for i in range(2)]
    restored = restore_source(chunks[0], chunks[1], 2.0)
    assert (restored.id, restored.content, restored.meta[SOURCE_ID]) == ("c1", "part 1", "doc")


def test_stale_chunks_are_those_beyond_the_new_count() -> None:
    old = make_chunks(Document(id="doc", content="long"), ["a", "b", "c"], [None] * 3, "hash")
    new = make_chunks(Document(id="doc", content="short"), ["a"], [None], "hash")
    assert stale_chunk_ids(old[0], new[0]) == ["doc#1", "doc#2"]
    assert stale_chunk_ids(new[0], old[0]) == []
    assert stale_chunk_ids(old[1], old[1]) == []
    assert stale_chunk_ids(None, new[0]) == []
    assert stale_chunk_ids(Document(id="doc#0", content="not a chunk"), new[0]) == []
