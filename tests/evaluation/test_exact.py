"""Reading without an index: lengths, counts, scores, order and figures are those of the bm25s engine."""

import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoindex_haystack import load_collection
from autoindex_haystack.evaluation import Evaluator, score_queries
from autoindex_haystack.evaluation.exact import ExactEvaluator, piece_scanner
from autoindex_haystack.evaluation.exact.compiled import is_kept
from autoindex_haystack.evaluation.exact.judgments import Judgments
from autoindex_haystack.evaluation.exact.memory import Memory
from autoindex_haystack.evaluation.exact.piece_scanner import PieceScanner
from autoindex_haystack.evaluation.exact.scan import Scanner, WordScanner
from autoindex_haystack.evaluation.exact.scoring import Ranked
from autoindex_haystack.evaluation.exact.words import scan_words
from autoindex_haystack.evaluation.metrics import SMOOTH_RECALL, smooth_recall
from autoindex_haystack.evaluation.readings import is_worth_reading
from autoindex_haystack.program import builtin_program
from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex, ChunkTable, Ranking
from autoindex_haystack.retrieval.analyzers import ANALYZER_NAMES, tokenize
from autoindex_haystack.retrieval.lucene_model import Departures
from autoindex_haystack.retrieval.ranking import code_point_order
from autoindex_haystack.retrieval.texts import Utf8Texts

from .conftest import indexing

WORDS = (
    "the of wing Wing WING_2 3.14 don't über ÜBER naïve naïve İstanbul ΣΊΣΥΦΟΣ ΟΔΟΣ. Σ ας 東京都 ᾼ ʰΣ x́Σ ΑΣ:Α ǅ ﬁn"
).split()
"""Stop words, cases, marks, and all the trouble with capital sigma and the dotted i."""

texts = st.one_of(
    st.lists(st.sampled_from([*WORDS, " ", "\n", "'", "\u00ad"]), max_size=12).map("".join),
    st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.text("aAbΣ.'\u0301İ9_ ", max_size=20),
)


def scanned(scanner: Scanner, corpus: list[str]) -> list[tuple[int, dict[int, int]]]:
    """For each text the number of its tokens and how often each term occurs."""
    found = scanner.scan(Utf8Texts.of(corpus), np.arange(len(corpus)))
    bounds = pairwise(np.cumsum([0, *found.counts]).tolist())
    postings = [dict(zip(found.terms[a:b].tolist(), found.times[a:b].tolist(), strict=True)) for a, b in bounds]
    assert sum(map(len, postings)) == len(found.terms) == len(found.times)
    return list(zip(found.lengths.tolist(), postings, strict=True))


def tokenized(terms: list[str], corpus: list[str], analyzer: str = "bm25s") -> list[tuple[int, dict[int, int]]]:
    """The same by the analyzer."""
    numbers = {term: i for i, term in enumerate(terms)}
    rows = [tokenize(text, analyzer) for text in corpus]
    return [(len(row), dict(Counter(numbers[token] for token in row if token in numbers))) for row in rows]


@given(corpus=st.lists(texts, max_size=8), wanted=st.lists(texts, max_size=4))
def test_lengths_and_counts_are_those_of_the_analyzer(corpus, wanted):
    terms = list(dict.fromkeys(token for text in [*wanted, *corpus[::2]] for token in tokenize(text)))
    assert scanned(WordScanner(terms), corpus) == tokenized(terms, corpus)


LUCENE = "lucene-english", "lucene-standard"
STICKY = "abAB_19.:',;\"#* \n-é“\u00a0א\u20e3\ufe0f😀\u200d東ァー\u0e01ı"
"""What sticks to its neighbours by the rules of Unicode, and what does not."""

sticky_texts = st.one_of(texts, st.text(STICKY, max_size=30), st.text(STICKY, max_size=4).map(lambda text: text * 100))


@given(
    st.lists(st.lists(sticky_texts, max_size=6), min_size=1, max_size=4),
    st.sampled_from(LUCENE),
    st.sampled_from([1, 8, 4096]),
)
def test_lengths_and_counts_are_those_of_lucene_s_analyzers(corpora, analyzer, entries):
    """At the first reading and the next ones, also when few pieces can be remembered."""
    rows = [tokenize(text, analyzer) for corpus in corpora for text in corpus[::2]]
    terms = list(dict.fromkeys(token for row in rows for token in row))
    scanner = PieceScanner(terms, analyzer, entries)
    for corpus in corpora * 2:
        assert scanned(scanner, corpus) == tokenized(terms, corpus, analyzer)


def test_a_piece_is_analyzed_once(monkeypatch):
    asked = []
    monkeypatch.setattr(
        piece_scanner, "tokenize", lambda piece, analyzer: asked.append(piece) or tokenize(piece, analyzer)
    )
    scanner = PieceScanner(["wing"], "lucene-english")
    for corpus in (["Wings, wings (WINGS)", "ice: wings"], ["ice wings.", "über wings ÜBER ice"], ["ÜBER", "über"]):
        assert scanned(scanner, corpus) == tokenized(["wing"], corpus, "lucene-english")
    assert asked == ["Wings", "ice", "über", "ÜBER"]


def test_several_threads_may_read_while_pieces_are_forgotten():
    rng = np.random.default_rng(3)
    corpora = [[" ".join(f"{w}s-{w}ing" for w in rng.integers(0, 900, 30)) for _ in range(40)] for _ in range(30)]
    terms = [str(i) for i in range(0, 900, 7)] + [f"{i}s" for i in range(0, 900, 11)]
    scanner = PieceScanner(terms, "lucene-english", 256)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda corpus: scanned(scanner, corpus), corpora))
    assert found == [tokenized(terms, corpus, "lucene-english") for corpus in corpora]


def test_tokens_of_any_length_are_told_apart():
    corpus = ["x" * n for n in (1, 2, 7, 8, 9, 15, 16, 17, 24, 25, 1000)]
    corpus += [text[:-1] + "y" for text in corpus[1:]] + [f"{text} é{text}" for text in corpus]
    terms = [text for text in corpus if text.isascii() and 2 <= len(text) <= 25]
    assert scanned(WordScanner(terms), corpus) == tokenized(terms, corpus)


@pytest.mark.full
def test_every_character_is_lowered_and_told_apart_as_python_does():
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    corpus = [f"q{c} {c}q a{c}Σ1 aΣ{c}b Σ{c}Σ {c}{c}" for c in characters]
    terms = list(dict.fromkeys(token for text in corpus if text.lower() != text.swapcase() for token in tokenize(text)))
    scanner = WordScanner(terms)
    for begin in range(0, len(corpus), 50_000):
        part = corpus[begin : begin + 50_000]
        assert scanned(scanner, part) == tokenized(terms, part)


@settings(max_examples=40)
@given(st.lists(st.lists(st.lists(texts, max_size=3), min_size=4, max_size=4), min_size=1, max_size=12), st.data())
def test_what_was_read_before_is_known_again_and_nothing_else(outputs, data):
    """Also when there is room for little, so that it is written over again and again."""
    terms = list(
        dict.fromkeys(token for output in outputs for document in output for token in tokenize(" ".join(document)))
    )
    scanner = WordScanner(terms[::2])
    memory = Memory(scanner, 4, step=data.draw(st.sampled_from([64, 256, 1 << 16])), largest=0)
    seen = {}
    for output in outputs:
        chosen = np.array(data.draw(st.lists(st.integers(0, 3), min_size=1, unique=True).map(sorted)), np.int64)
        counts = np.array([len(output[i]) for i in chosen], np.uint32)
        chunks = Utf8Texts.of([text for i in chosen for text in output[i]])
        digests = np.empty(len(chosen), np.uint64)
        scan = memory.scan(chosen, counts, chunks, digests)
        expected = scanner.scan(chunks, np.arange(len(chunks)))
        for name, values in expected._asdict().items():
            assert getattr(scan, name).tolist() == values.tolist(), name
        assert scan.owners.tolist() == np.repeat(chosen, counts).tolist()
        for i, digest in zip(chosen.tolist(), digests.tolist(), strict=True):
            assert seen.setdefault(digest, output[i]) == output[i]
    assert len(seen) == len(set(map(tuple, seen.values())))


def test_a_document_that_did_not_change_is_not_read_again():
    class Counting(WordScanner):
        read = 0

        def scan(self, texts, chosen):
            self.read += len(chosen)
            return super().scan(texts, chosen)

    scanner = Counting(["wing"])
    memory = Memory(scanner, 3)
    documents, counts, digests = np.arange(3), np.array([2, 0, 1], np.uint32), np.empty(3, np.uint64)
    for changed, read in (("ice", 3), ("ice", 3), ("wing", 4), ("ice", 4)):
        memory.scan(documents, counts, Utf8Texts.of(["wing", "cold wing", changed]), digests)
        assert scanner.read == read


@st.composite
def corpora(draw):
    """Documents of several chunks, some alike, and queries."""
    words = st.lists(st.sampled_from([*WORDS, "wing", "ice", "cold"]), max_size=9).map(" ".join)
    documents = draw(st.lists(st.lists(words, max_size=4), min_size=1, max_size=12))
    copies = draw(st.integers(1, 12))
    documents = [chunks for chunks in documents for _ in range(copies)]
    ids = draw(st.permutations([f"d{i}" for i in range(len(documents))]))
    queries = draw(st.lists(words, min_size=1, max_size=4))
    chunks = [text for document in documents for text in document]
    owners = np.repeat(np.arange(len(documents)), list(map(len, documents)))
    return ChunkTable(Utf8Texts.of(chunks), owners, ids), {f"q{i}": query for i, query in enumerate(queries)}


def ranked(
    chunks: ChunkTable, queries: dict[str, str], bm25: BM25Settings, departures: Departures | None = None
) -> Ranked:
    """Rank by reading the chunks in several pieces, the last first; every document is relevant to every query."""
    ids, order = chunks.document_ids, code_point_order(chunks.document_ids)
    exact = ExactEvaluator(queries, {query: dict.fromkeys(ids, 1) for query in queries}, bm25, ids, order, departures)
    try:
        reading = exact.reading()
        bounds = np.searchsorted(chunks.documents, np.linspace(0, len(ids), 4).astype(int)).tolist()
        for begin, end in reversed(list(pairwise(bounds))):
            documents, counts = np.unique(chunks.documents[begin:end], return_counts=True)
            reading.add(documents, counts.astype(np.uint32), Utf8Texts.of(chunks.texts)[begin:end])
        return exact.rank(reading.finished())
    finally:
        exact.close()


def as_lists(rankings: list[Ranking]) -> list[tuple[list[int], list[float], list[int]]]:
    return [(r.ordinals.tolist(), r.scores.tolist(), r.chunks.tolist()) for r in rankings]


@settings(max_examples=60)
@given(
    corpora(),
    st.sampled_from([(1.5, 0.75), (0.9, 0.4), (0, 1)]).flatmap(
        lambda p: st.sampled_from(ANALYZER_NAMES).map(lambda analyzer: BM25Settings(k1=p[0], b=p[1], analyzer=analyzer))
    ),
    st.sampled_from(["exact", "lucene"]),
)
def test_rankings_are_those_of_the_bm25s_engine_to_the_last_bit(corpus, bm25, norms):
    chunks, queries = corpus
    index = Bm25sIndex.build(chunks, bm25, norms=norms)
    found = ranked(chunks, queries, bm25, Departures() if norms == "lucene" else None)
    best, deep = (index.search_documents(list(queries.values()), top_k) for top_k in (100, 1000))
    assert as_lists(found.rankings) == as_lists(best)
    assert found.ranks.tolist() == ranks_of(deep, len(index.document_ids))


def test_ranks_deeper_than_rankings_are_those_of_the_bm25s_engine():
    """Documents of many scores, of nearly the same and of the same, more than there are ranks."""
    rng = np.random.default_rng(7)
    corpus = [" ".join(rng.choice(["wing", "ice", "cold", "hot"], rng.integers(1, 400))) for _ in range(1500)]
    corpus += ["wing ice"] * 700 + ["hot"] * 5200
    ids = [f"d{i * 7919 % 10007}" for i in range(len(corpus))]
    chunks = ChunkTable(Utf8Texts.of(corpus), np.arange(len(corpus)), ids)
    queries = {"q1": "wing", "q2": "cold ice wing", "q3": "hot", "q4": "nothing"}
    index = Bm25sIndex.build(chunks, BM25Settings())
    expected = ranks_of(index.search_documents(list(queries.values()), 1000), len(corpus))
    assert ranked(chunks, queries, BM25Settings()).ranks.tolist() == expected


def ranks_of(rankings: list[Ranking], documents: int) -> list[int]:
    """The rank of each document for the first query, then for the next; 0 for those not found."""
    ranks = np.zeros((len(rankings), documents), np.int64)
    for row, ranking in zip(ranks, rankings, strict=True):
        row[ranking.ordinals] = np.arange(1, len(ranking) + 1)
    return ranks.ravel().tolist()


@pytest.mark.parametrize("analyzer", ["bm25s", "lucene-english"])
@pytest.mark.parametrize(
    "name",
    [
        "cranfield",
        *(
            pytest.param(name, marks=pytest.mark.full)
            for name in (
                "theoremqa npl_vaswani medquad_liveqa debian_blends debian_blends_full mdn_webfeatures "
                "gcide_reverse_full"
            ).split()
        ),
    ],
)
def test_rankings_and_figures_of_collections_are_those_of_the_bm25s_engine(collection_folder, name, analyzer):
    collection = load_collection(collection_folder(name))
    found = []
    for exact in (True, False):
        with Evaluator(collection, BM25Settings(analyzer=analyzer), exact=exact, workers=2) as evaluator:
            found.append(evaluator.evaluate(builtin_program("passages"), collection.queries))
    one, other = found
    assert one.rankings == other.rankings
    assert len(np.unique(one.digests)) == len(np.unique(other.digests))
    for field in ("chunks", "chunk_bytes", "growth", "unreachable", "state"):
        assert getattr(one, field) == getattr(other, field), field
    for query, scores in other.scores.items():
        assert one.scores[query] == pytest.approx(scores, abs=1e-12)


@pytest.mark.skipif(find_spec("jnius") is None, reason="Lucene is not installed")
@pytest.mark.parametrize("name", ["cranfield", pytest.param("debian_blends", marks=pytest.mark.full)])
def test_in_place_of_lucene_rankings_and_figures_are_lucenes(collection_folder, name):
    collection = load_collection(collection_folder(name))
    found = []
    for exact in (True, False):
        with Evaluator(collection, BM25Settings(analyzer="lucene-english"), backend="lucene", exact=exact) as evaluator:
            found.append(evaluator.evaluate(builtin_program("passages"), collection.queries))
    ours, theirs = found
    alike = 0
    for query in collection.queries:
        one, other = dict(ours.rankings[query]), dict(theirs.rankings[query])
        assert list(one.values()) == pytest.approx(list(other.values()), abs=1e-5)
        alike += list(one) == list(other)
    # Where a score rounds the other way, two documents change places.
    assert alike >= 0.99 * len(collection.queries)
    assert ours.metrics == pytest.approx(theirs.metrics, abs=1e-3)


IDS = [f"d{i}" for i in range(130)]


@given(
    st.lists(st.tuples(st.permutations(range(130)), st.integers(0, 100)), min_size=1, max_size=3),
    st.data(),
)
@settings(max_examples=40)
def test_figures_are_those_of_ir_measures(rows, data):
    grades = st.dictionaries(st.sampled_from([*IDS, "gone", "lost"]), st.integers(-1, 3), max_size=30)
    qrels = {f"q{i}": {**data.draw(grades), data.draw(st.sampled_from([*IDS, "gone"])): 2} for i in range(len(rows))}
    rankings = [order[:count] for order, count in rows]
    expected = score_queries(
        {query: [IDS[d] for d in ranking] for query, ranking in zip(qrels, rankings, strict=True)}, qrels
    )
    judgments = Judgments(list(qrels), qrels, {name: i for i, name in enumerate(IDS)}, len(IDS))
    judged = [judgments.documents[begin:end].tolist() for begin, end in pairwise(judgments.bounds)]
    pairs = [(ranking, d) for ranking, documents in zip(rankings, judged, strict=True) for d in documents]
    found = judgments.score(np.array([r.index(d) + 1 if d in r else 0 for r, d in pairs], np.int64))
    assert list(found) == list(expected)
    for query, ranking in zip(qrels, rankings, strict=True):
        relevant = {document for document, grade in qrels[query].items() if grade > 0}
        ranks = [rank for rank, d in enumerate(ranking, start=1) if IDS[d] in relevant]
        expected[query][SMOOTH_RECALL] = smooth_recall(np.array(ranks, np.int64), len(relevant))
        assert found[query] == pytest.approx(expected[query], abs=1e-12)


def test_one_evaluator_takes_several_sets_of_queries_and_programs_in_turn(small):
    programs = builtin_program("full_document"), indexing("doc.text"), indexing("'wing wing' if doc.text else ''")
    with Evaluator(small, exact=True) as exact, Evaluator(small, exact=False) as other:
        for queries in (["q1", "q2"], ["q3"], ["q2", "q1"]):
            for program in programs:
                one, expected = (e.evaluate(program, queries) for e in (exact, other))
                assert (one.rankings, one.scores) == (expected.rankings, expected.scores)
                assert list(one.scores) == queries


def test_engines_other_than_bm25s_are_indexed():
    assert [is_worth_reading("bm25s", analyzer, 10**9) for analyzer in ANALYZER_NAMES] == [True, True, True]
    assert not is_worth_reading("lucene", "lucene-english", 10**9)


@pytest.mark.parametrize("size", [1, 10**7])
def test_code_that_must_be_compiled_first_is_left_alone_where_that_takes_longer(tmp_path, size):
    """In a process whose compiled code is kept in an empty folder."""
    script = (
        "from autoindex_haystack.evaluation.exact import is_compiled\n"
        "from autoindex_haystack.evaluation.readings import is_worth_reading as pays\n"
        f"print(is_compiled('bm25s'), pays('bm25s', 'bm25s', {size}), pays('bm25s', 'bm25s', {size} * 100_000_000))"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]


def test_compiled_code_is_kept(tmp_path):
    scanned(WordScanner(["wing"]), ["wing"])
    assert is_kept(scan_words)


@pytest.mark.parametrize("call", ["ftruncate", "posix_fallocate"])
def test_less_is_remembered_where_there_is_no_room(monkeypatch, call):
    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(os, call, refuse)
    memory = Memory(WordScanner(["wing"]), 2)
    for _ in range(3):
        scan = memory.scan(np.arange(2), np.ones(2, np.uint32), Utf8Texts.of(["wing", "ice"]), np.empty(2, np.uint64))
        assert (scan.lengths.tolist(), scan.counts.tolist()) == ([1, 1], [1, 0])
