"""The model of Lucene gives Lucene's scores, and the certificate explains what it should and nothing else."""

import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoindex_haystack.collection import load_collection
from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex, ChunkTable, Ranking, get_backend
from autoindex_haystack.retrieval.lucene_model import Departures, Postings, byte_lengths
from autoindex_haystack.retrieval.parity import CAUSES, TOLERANCE, _verdict, certify

pytestmark = pytest.mark.skipif(find_spec("jnius") is None, reason="Lucene is not installed")

WORDS = [f"w{i}" for i in range(40)]
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=80).map(" ".join), min_size=1, max_size=25)
queries = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), min_size=1, max_size=4)


def lucene(chunks, settings=None):
    return get_backend("lucene").build(chunks, settings or BM25Settings())


def full_documents(folder):
    collection = load_collection(folder)
    made = [f"{d.metadata['title']}\n{d.text}" if d.metadata else d.text for d in collection.documents]
    return collection, ChunkTable.of_texts(made, collection.document_ids)


def test_lengths_go_through_one_byte_as_in_lucene():
    from pyserini_backend.jvm import enter, java_class

    enter()
    small_float = java_class("org.apache.lucene.util.SmallFloat")
    lengths = [*range(300), 999, 1_000, 4_999, 5_000, 123_456, 2_000_000, 2**31 - 1]
    expected = [small_float.byte4ToInt(small_float.intToByte4(length)) for length in lengths]
    assert byte_lengths(np.array(lengths)).tolist() == expected


@settings(max_examples=30)
@given(texts, queries, st.floats(0.1, 3), st.floats(0, 1))
def test_the_model_gives_lucenes_scores_and_order_on_any_corpus(made, asked, k1, b):
    chunks, chosen = ChunkTable.of_texts(made), BM25Settings(k1=k1, b=b)
    model = Bm25sIndex.build(chunks, chosen, norms="lucene")
    with lucene(chunks, chosen) as engine:
        for ours, theirs in zip(model.search(asked, 100), engine.search(asked, 100), strict=True):
            assert sorted(ours.ordinals.tolist()) == sorted(theirs.ordinals.tolist())
            order = np.argsort(ours.ordinals), np.argsort(theirs.ordinals)
            assert ours.scores[order[0]] == pytest.approx(theirs.scores[order[1]], rel=TOLERANCE)


@settings(max_examples=20)
@given(texts, queries)
def test_every_difference_is_explained_on_any_corpus(made, asked):
    chunks = ChunkTable.of_texts(made)
    with lucene(chunks) as engine:
        parity = certify(Bm25sIndex.build(chunks, BM25Settings()), engine, chunks, dict(enumerate(asked)))
    assert parity.unexplained == 0
    assert parity.count("identical") + parity.count("rounding") == len(asked)


def test_the_model_keeps_its_scores_when_saved(tmp_path):
    index = Bm25sIndex.build(ChunkTable.of_texts(["a b1 " * 50, "b1 c1", ""]), BM25Settings(), norms="lucene")
    index.save(tmp_path / "index")
    loaded = Bm25sIndex.load(tmp_path / "index")
    assert loaded.norms == "lucene"
    assert loaded.search(["b1"], 5)[0].scores.tolist() == index.search(["b1"], 5)[0].scores.tolist()


def test_exact_and_lucene_norms_differ_where_a_length_is_cut():
    chunks = ChunkTable.of_texts([" ".join(["word"] * 57), " ".join(["word"] * 56), "other"])
    exact = Bm25sIndex.build(chunks, BM25Settings()).search(["word"], 2)[0]
    model = Bm25sIndex.build(chunks, BM25Settings(), norms="lucene").search(["word"], 2)[0]
    assert exact.scores[0] != exact.scores[1]
    assert model.scores[0] != model.scores[1]
    assert byte_lengths(np.array([57, 56])).tolist() == [56, 56]


def test_postings_are_counted_by_term_and_chunk():
    postings = Postings.of_tokens([[0, 1, 0], [], [1]], {"a": 0, "b": 1})
    assert postings.starts.tolist() == [0, 1, 3]
    assert postings.chunks.tolist() == [0, 0, 2]
    assert postings.frequencies.tolist() == [2.0, 1.0, 1.0]
    assert postings.lengths.tolist() == [3, 0, 1]


def test_a_corpus_without_a_token_has_no_scores_and_gives_no_warning():
    for chunks in ([], [[], []]):
        for departures in (Departures(), Departures(skip_empty=True)):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert Postings.of_tokens(chunks, {}).scores(BM25Settings(), departures).size == 0


def test_empty_chunks_count_only_without_the_departure():
    postings = Postings.of_tokens([[0, 1], [0], [], []], {"a": 0, "b": 1})
    skipping = postings.scores(BM25Settings(), Departures(skip_empty=True, byte_lengths=False))
    counting = postings.scores(BM25Settings(), Departures(skip_empty=False, byte_lengths=False))
    idf = np.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    assert skipping[2] == pytest.approx(idf / (1 + 1.5 * (0.25 + 0.75 * 2 / 1.5)), rel=1e-6)
    idf = np.log(1 + (4 - 1 + 0.5) / (1 + 0.5))
    assert counting[2] == pytest.approx(idf / (1 + 1.5 * (0.25 + 0.75 * 2 / 0.75)), rel=1e-6)


def test_a_certificate_of_a_real_collection(collection_folder):
    collection, chunks = full_documents(collection_folder("cranfield"))
    with lucene(chunks) as engine:
        parity = certify(Bm25sIndex.build(chunks, BM25Settings()), engine, chunks, collection.queries)
    assert parity.count("identical") + parity.count("rounding") == 225
    assert parity.unexplained == 0
    assert parity.largest_modelled < TOLERANCE
    assert parity.causes["length byte"] > 0
    assert parity.causes["documents without tokens"] > 0
    assert 0.95 < parity.overlap_100 < 1.0
    assert set(parity.causes) == set(CAUSES)
    for query in parity.queries.values():
        assert sum(query.causes.values()) == len(query.differences)


@pytest.mark.full
@pytest.mark.parametrize("analyzer", ["bm25s", "lucene-english"])
@pytest.mark.parametrize(
    "name",
    "cranfield theoremqa npl_vaswani medquad_liveqa debian_blends mdn_webfeatures gcide_reverse_full".split(),
)
def test_nothing_is_unexplained_on_the_seven_collections(collection_folder, name, analyzer):
    collection, chunks = full_documents(collection_folder(name))
    chosen = BM25Settings(analyzer=analyzer)
    with lucene(chunks, chosen) as engine:
        parity = certify(Bm25sIndex.build(chunks, chosen), engine, chunks, collection.queries)
    assert parity.unexplained == 0
    assert parity.count("identical") + parity.count("rounding") == len(collection.queries)
    assert parity.largest_modelled < TOLERANCE


class Disturbed(Bm25sIndex):
    """A Lucene that does not do what is known of it."""

    backend = "disturbed"

    def candidates(self, query, depth, allowed=None):
        hits = super().candidates(query, depth, allowed)
        factors = 1 + 0.3 * (hits.ordinals % 2).astype(np.float32)
        return type(hits)(hits.ordinals, hits.scores * factors, hits.exhausted)


class OtherTokens(Disturbed):
    """A Lucene whose analyzer sees other tokens."""

    def tokens(self, text):
        return [*super().tokens(text), "more"]


@pytest.mark.parametrize(("engine", "cause"), [(Disturbed, "unexplained"), (OtherTokens, "analyzer")])
def test_what_is_not_known_of_lucene_is_not_explained_away(engine, cause):
    chunks = ChunkTable.of_texts([f"word other{i} " + "filler " * i for i in range(30)])
    parity = certify(
        Bm25sIndex.build(chunks, BM25Settings()),
        engine.build(chunks, BM25Settings(), norms="lucene"),
        chunks,
        {"q": "word"},
    )
    assert parity.queries["q"].modelled == "unexplained"
    assert parity.causes[cause] > 0
    assert parity.unexplained > 0


def ranking(*pairs):
    documents, scores = zip(*pairs, strict=True)
    return Ranking(np.array(documents), np.array(scores, np.float32), np.array(documents))


def test_verdicts():
    model = ranking((1, 3.0), (2, 2.00005001), (3, 2.00004999))
    assert _verdict(model, model) == "identical"
    assert _verdict(model, ranking((1, 3.0), (3, 2.00005), (2, 2.00005))) == "rounding"
    assert _verdict(model, ranking((2, 2.00005), (1, 3.0), (3, 2.00005))) == "unexplained"
    assert _verdict(model, ranking((1, 3.1), (3, 2.1), (2, 2.0))) == "unexplained"
    assert _verdict(model, ranking((1, 3.0), (2, 2.0))) == "unexplained"


def test_other_chunks_or_settings_are_refused():
    chunks, others = ChunkTable.of_texts(["a1", "b1"]), ChunkTable.of_texts(["a1"])
    index = Bm25sIndex.build(chunks, BM25Settings())
    with pytest.raises(ValueError, match="other chunks"):
        certify(index, Bm25sIndex.build(others, BM25Settings()), chunks, {})
    with pytest.raises(ValueError, match="other settings"):
        certify(index, Bm25sIndex.build(chunks, BM25Settings(b=0.1)), chunks, {})
