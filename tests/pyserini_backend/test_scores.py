"""Scores are those of Lucene's BM25, for the right chunk, however the index came about."""

import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from autoindex_haystack.retrieval import BM25Settings, Bm25sIndex, ChunkTable, Hits
from autoindex_haystack.retrieval.analyzers import tokenize
from pyserini_backend import jvm
from pyserini_backend.analysis import joined_tokens
from pyserini_backend.index import LuceneIndex
from pyserini_backend.reader import LuceneReader
from pyserini_backend.searcher import LuceneSearcher
from pyserini_backend.writer import LuceneWriter

SETTINGS = BM25Settings()


def kept_length(length: int) -> int:
    """A document length after Lucene keeps it in one byte (`SmallFloat.intToByte4`): exact to 40, then floored."""
    if length < 40:
        return length
    shift = max(0, (length - 24).bit_length() - 4)
    return 24 + ((length - 24) >> shift << shift)


def model(texts: Sequence[str], query: str, settings: BM25Settings = SETTINGS) -> NDArray[np.float64]:
    """Lucene's BM25 of each text: N and the average length are over texts with tokens, lengths are kept in a byte."""
    bags = [Counter(tokenize(text)) for text in texts]
    lengths = [sum(bag.values()) for bag in bags]
    filled = [length for length in lengths if length]
    average = sum(filled) / max(1, len(filled))
    scores = np.zeros(len(texts))
    for term, count in Counter(tokenize(query)).items():
        frequency = sum(term in bag for bag in bags)
        weight = count * math.log(1 + (len(filled) - frequency + 0.5) / (frequency + 0.5))
        for i, bag in enumerate(bags):
            norm = settings.k1 * (1 - settings.b + settings.b * kept_length(lengths[i]) / average)
            if bag[term]:
                scores[i] += weight - weight / (1 + bag[term] / norm) if norm else weight
    return scores


def by_chunk(hits: Hits, count: int) -> NDArray[np.float64]:
    scores = np.zeros(count)
    scores[hits.ordinals] = hits.scores
    return scores


def random_texts(seed: int, count: int, longest: int = 60) -> list[str]:
    draw = random.Random(seed)
    words = [f"word{n}" for n in range(40)] + ["the", "of", "日本", "naïve", "𐐀𐐁𐐂"]
    return [" ".join(draw.choices(words, k=draw.randrange(longest))) for _ in range(count)]


@pytest.mark.parametrize(
    "settings", [SETTINGS, BM25Settings(k1=0.9, b=0.4), BM25Settings(k1=0, b=0), BM25Settings(b=1)]
)
def test_scores_are_lucenes_bm25(settings: BM25Settings) -> None:
    texts = [*random_texts(1, 200), *random_texts(2, 20, longest=3000)]
    with LuceneIndex.build(ChunkTable.of_texts(texts), settings) as index:
        for query in [*random_texts(3, 20, longest=12), "word1 word1 word1 word2"]:
            hits = index.candidates(query, len(texts))
            assert hits.exhausted
            assert hits.scores.dtype == np.float32
            assert np.allclose(by_chunk(hits, len(texts)), model(texts, query, settings), rtol=1e-5, atol=0)


def test_ranking_equals_that_of_bm25s_while_lengths_fit_a_byte_exactly() -> None:
    texts = [text for text in random_texts(4, 300, longest=40) if tokenize(text)]
    queries = random_texts(5, 20, longest=12)
    chunks = ChunkTable(texts, np.arange(len(texts)) // 3, [f"d{n}" for n in range(-(-len(texts) // 3))])
    with LuceneIndex.build(chunks, SETTINGS) as ours, Bm25sIndex.build(chunks, SETTINGS) as theirs:
        for found, expected in zip(
            [*ours.search(queries, 50), *ours.search_documents(queries, 50)],
            [*theirs.search(queries, 50), *theirs.search_documents(queries, 50)],
            strict=True,
        ):
            assert found.ordinals.tolist() == expected.ordinals.tolist()
            assert found.chunks.tolist() == expected.chunks.tolist()
            assert np.allclose(found.scores, expected.scores, rtol=1e-5)


def segments(folder: Path) -> int:
    return len(list(folder.glob("*.si")))


@pytest.mark.parametrize("merged", [False, True])
def test_each_score_belongs_to_its_chunk_after_many_flushes_and_merges(tmp_path: Path, merged: bool) -> None:
    texts = [f"own{n} common" for n in range(300)]
    with LuceneWriter(tmp_path, SETTINGS, buffer_mb=0.05) as writer:
        for start in range(0, len(texts), 60):
            ids = [str(n) for n in range(start, start + 60)]
            writer.adding(ids, texts[start : start + 60], start)()
        if merged:
            writer.merge()
    assert segments(tmp_path) == 1 if merged else segments(tmp_path) > 1
    reader = LuceneReader(tmp_path)
    ordinals = reader.numbers("ordinal")
    assert ordinals is not None
    searcher = LuceneSearcher(reader, SETTINGS, ordinals)
    asked = list(range(0, len(texts), 7))
    found = searcher.search_many([f"own{n}" for n in asked], 5)
    assert [hits.ordinals.tolist() for hits in found] == [[n] for n in asked]
    assert sorted(searcher.search("common", len(texts)).ordinals.tolist()) == list(range(len(texts)))
    searcher.close()


def test_lucene_finds_nothing_wrong_with_the_index(tmp_path: Path, check_index: Callable[[Path], None]) -> None:
    LuceneIndex.build(ChunkTable.of_texts(random_texts(6, 500)), SETTINGS, tmp_path / "index").close()
    check_index(tmp_path / "index" / "lucene")


def test_ties_at_the_cut_do_not_decide_the_ranking() -> None:
    ids = [f"d{n:03}" for n in range(900)]
    shuffled = random.Random(7).sample(ids, len(ids))
    with LuceneIndex.build(ChunkTable.of_texts(["same words"] * len(ids), shuffled), SETTINGS) as index:
        [ranking] = index.search(["words"], 5)
        assert [shuffled[n] for n in ranking.ordinals] == ids[:5]


def test_hits_left_out_score_no_higher_than_the_lowest_returned() -> None:
    texts = random_texts(8, 3000, longest=20)
    with LuceneIndex.build(ChunkTable.of_texts(texts), SETTINGS) as index:
        everything = by_chunk(index.candidates("word1 word2 word3", len(texts)), len(texts))
        for depth in (1, 10, 500):
            hits = index.candidates("word1 word2 word3", depth)
            assert not hits.exhausted
            assert len(hits.ordinals) >= depth
            assert hits.scores.min() >= np.sort(np.delete(everything, hits.ordinals))[-1]
            assert np.array_equal(everything[hits.ordinals].astype(np.float32), hits.scores)


def test_searches_from_eight_threads_give_the_serial_answers() -> None:
    texts = random_texts(9, 400)
    queries = random_texts(10, 40, longest=10)
    with LuceneIndex.build(ChunkTable.of_texts(texts), SETTINGS) as index:
        serial = [by_chunk(index.candidates(query, 150), len(texts)) for query in queries]
        pace = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            with ThreadPoolExecutor(8) as pool:
                for _ in range(5):
                    found = pool.map(lambda query: by_chunk(index.candidates(query, 150), len(texts)), queries)
                    assert all(np.array_equal(a, b) for a, b in zip(found, serial, strict=True))
        finally:
            sys.setswitchinterval(pace)


def test_batch_gives_the_serial_answers() -> None:
    texts = random_texts(11, 400)
    queries = ["", "the", *random_texts(12, 40, longest=10), "unknown words"]
    with LuceneIndex.build(ChunkTable.of_texts(texts), SETTINGS) as index:
        batch = index.candidates_many(queries, 30)
        for query, hits in zip(queries, batch, strict=True):
            alone = index.candidates(query, 30)
            assert hits.exhausted == alone.exhausted
            assert np.array_equal(by_chunk(hits, len(texts)), by_chunk(alone, len(texts)))


def pyserini_search(folder: Path, settings: BM25Settings, query: str, depth: int) -> list[tuple[str, float]]:
    """Search as Pyserini's `LuceneSearcher` does, for an index of tokens: whitespace analyzer, tokens as the query."""
    with jvm.java("Pyserini cannot search"):
        searcher: Any = jvm.java_class("io.anserini.search.SimpleSearcher")(str(folder / "lucene"))
        searcher.set_analyzer(jvm.java_class("org.apache.lucene.analysis.core.WhitespaceAnalyzer")())
        searcher.set_bm25(settings.k1, settings.b)
        found = searcher.search(joined_tokens(query), depth)
        return [(hit.docid, hit.score) for hit in found]


def test_pyserini_reads_the_index_and_agrees(tmp_path: Path) -> None:
    texts = random_texts(13, 300)
    with LuceneIndex.build(ChunkTable.of_texts(texts), SETTINGS, tmp_path / "index") as index:
        for query in random_texts(14, 5, longest=8):
            scores = by_chunk(index.candidates(query, len(texts)), len(texts))
            found = pyserini_search(tmp_path / "index", SETTINGS, query, 50)
            assert len(found) == min(50, np.count_nonzero(scores))
            for docid, score in found:
                assert docid.endswith("#0")
                assert score == pytest.approx(scores[int(docid.removesuffix("#0"))], abs=1e-4)
