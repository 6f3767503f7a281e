"""The whole of Pyserini, in an environment of its own, reads our indexes, and we read those it makes."""

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from autoindex_haystack.collection import load_collection
from autoindex_haystack.retrieval import BM25Settings, ChunkTable, Index
from autoindex_haystack.retrieval.analyzers import tokenize
from autoindex_haystack.retrieval.updatable import KeyedChunks, open_updatable
from pyserini_backend.analysis import joined_tokens
from pyserini_backend.index import LuceneIndex

pytestmark = pytest.mark.full

Run = Callable[..., str]
Ranking = list[tuple[str, float]]
"""Document ids with scores, best first."""

DEPTH = 100
ANALYZERS = ("bm25s", "lucene-english", "lucene-standard")

SEARCH = """
import json, sys
from jnius import autoclass
from pyserini.search.lucene import LuceneSearcher

ANALYZERS = {
    "bm25s": "org.apache.lucene.analysis.core.WhitespaceAnalyzer",
    "lucene-standard": "org.apache.lucene.analysis.standard.StandardAnalyzer",
}
for job in json.load(open(sys.argv[1])):
    searcher = LuceneSearcher(job["index"])
    if job["analyzer"] in ANALYZERS:  # Pyserini's own is that of `lucene-english`.
        searcher.set_analyzer(autoclass(ANALYZERS[job["analyzer"]])())
    searcher.set_bm25(1.5, 0.75)
    ids = [str(n) for n in range(len(job["queries"]))]
    found = searcher.batch_search(job["queries"], ids, k=job["depth"], threads=2)
    with open(job["out"], "w") as file:
        json.dump([[(hit.docid, hit.score) for hit in found[n]] for n in ids], file)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("indexes")


@pytest.fixture(scope="module")
def corpus(collection_folder: Callable[[str], Path]) -> tuple[ChunkTable, list[str]]:
    """The chunks and the queries of a real collection."""
    collection = load_collection(collection_folder("cranfield"))
    texts = [f"{document.metadata.get('title', '')}\n{document.text}" for document in collection.documents]
    return ChunkTable.of_texts(texts, collection.document_ids), list(collection.queries.values())


@pytest.fixture(scope="module")
def ours(corpus: tuple[ChunkTable, list[str]], place: Path) -> dict[str, Index]:
    """Our indexes of that collection, by analyzer."""
    return {
        name: LuceneIndex.build(corpus[0], BM25Settings(analyzer=name), place / f"ours-{name}") for name in ANALYZERS
    }


@pytest.fixture(scope="module")
def updated(corpus: tuple[ChunkTable, list[str]], place: Path) -> Path:
    """The folder of an index of the same chunks that came about by updates."""
    chunks = corpus[0]
    ids = chunks.chunk_ids()
    settings = BM25Settings(analyzer="lucene-english")
    with open_updatable("lucene", place / "updated", settings) as index, index.writer() as writer:
        writer.write(KeyedChunks.of_texts([*ids, "passing"], ["something else", *chunks.texts]))
        writer.commit()
        writer.write(KeyedChunks.of_texts(ids, chunks.texts))
        writer.delete(["passing"])
        writer.commit(expunge=True)
    return place / "updated"


@pytest.fixture(scope="module")
def theirs(corpus: tuple[ChunkTable, list[str]], place: Path, pyserini: Run) -> dict[str, Path]:
    """Indexes of the same texts by Pyserini's indexer, by the analyzer that we call what they were made with."""
    chunks = corpus[0]
    prepared = {"lucene-english": chunks.texts, "bm25s": [joined_tokens(text) for text in chunks.texts]}
    options = {"lucene-english": "", "bm25s": "--pretokenized"}
    for name, texts in prepared.items():
        write_json(place / f"json-{name}", chunks.document_ids, texts)
        pyserini(
            f"python -m pyserini.index.lucene --collection JsonCollection --generator DefaultLuceneDocumentGenerator "
            f"--threads 2 --input {place}/json-{name} --index {place}/theirs-{name} {options[name]}"
        )
    return {name: place / f"theirs-{name}" for name in prepared}


def write_json(folder: Path, ids: Sequence[str], texts: Sequence[str]) -> None:
    folder.mkdir()
    rows = [json.dumps({"id": name, "contents": text}) for name, text in zip(ids, texts, strict=True)]
    (folder / "documents.jsonl").write_text("\n".join(rows), encoding="utf-8")


@pytest.fixture(scope="module")
def by_searcher(
    corpus: tuple[ChunkTable, list[str]],
    ours: dict[str, Index],
    updated: Path,
    theirs: dict[str, Path],
    place: Path,
    pyserini: Run,
) -> dict[str, list[Ranking]]:
    """What `LuceneSearcher` finds for all queries in each index, by the name of its folder."""
    jobs = []
    for folder, analyzer in [
        *((place / f"ours-{name}" / "lucene", name) for name in ours),
        (updated, "lucene-english"),
        *((folder, name) for name, folder in theirs.items()),
    ]:
        name = folder.parent.name if folder.name == "lucene" else folder.name
        queries = [as_query(query, analyzer) for query in corpus[1]]
        out = str(place / f"{name}.json")
        jobs.append({"name": name, "index": str(folder), "analyzer": analyzer, "queries": queries, "out": out})
    (place / "jobs.json").write_text(json.dumps([{**job, "depth": 3 * DEPTH} for job in jobs]), encoding="utf-8")
    (place / "search.py").write_text(SEARCH, encoding="utf-8")
    pyserini(f"python {place}/search.py {place}/jobs.json")
    return {job["name"]: json.loads(Path(job["out"]).read_text()) for job in jobs}


def as_query(query: str, analyzer: str) -> str:
    """A query as Pyserini is given it: tokens where its whitespace analyzer is used, else as it is."""
    return " ".join(tokenize(query)) if analyzer == "bm25s" else query


def search(index: Index, queries: Sequence[str]) -> list[Ranking]:
    """Our rankings of documents, of which each has one chunk."""
    return [
        [(index.document_ids[n], score) for n, score in zip(r.ordinals.tolist(), r.scores.tolist(), strict=True)]
        for r in index.search_documents(queries, DEPTH)
    ]


def assert_agree(found: Sequence[Ranking], expected: Sequence[Ranking]) -> None:
    """The same documents in the same order, with scores equal to four decimals.

    Where scores are equal to four decimals, Pyserini orders by what comes behind them, and we by the documents' ids.

    :param found: Pyserini's rankings, deeper than ours.
    :param expected: Ours.
    """
    assert len(found) == len(expected)
    for theirs, ours in zip(found, expected, strict=True):
        assert all(a >= b for (_, a), (_, b) in pairwise(theirs))
        ordered = sorted((-round(score, 4), name.removesuffix("#0")) for name, score in theirs)[: len(ours)]
        assert [name for _, name in ordered] == [name for name, _ in ours]
        assert [-score for score, _ in ordered] == pytest.approx([score for _, score in ours], abs=1e-4)


@pytest.mark.parametrize("analyzer", ANALYZERS)
def test_its_searcher_reads_our_indexes_and_ranks_alike(
    analyzer: str, corpus: tuple[ChunkTable, list[str]], ours: dict[str, Index], by_searcher: dict[str, list[Ranking]]
) -> None:
    assert_agree(by_searcher[f"ours-{analyzer}"], search(ours[analyzer], corpus[1]))


def test_its_searcher_reads_an_index_that_was_changed_in_place(
    corpus: tuple[ChunkTable, list[str]], ours: dict[str, Index], by_searcher: dict[str, list[Ranking]]
) -> None:
    assert_agree(by_searcher["updated"], search(ours["lucene-english"], corpus[1]))


@pytest.mark.parametrize(("analyzer", "options"), [("bm25s", "--pretokenized"), ("lucene-english", "")])
def test_its_command_line_reads_our_indexes_and_ranks_alike(
    analyzer: str,
    options: str,
    corpus: tuple[ChunkTable, list[str]],
    ours: dict[str, Index],
    place: Path,
    pyserini: Run,
) -> None:
    lines = [f"{n}\t{as_query(query, analyzer)}\n" for n, query in enumerate(corpus[1])]
    (place / f"{analyzer}.tsv").write_text("".join(lines), encoding="utf-8")
    pyserini(
        f"python -m pyserini.search.lucene --index {place}/ours-{analyzer}/lucene --topics {place}/{analyzer}.tsv "
        f"--output {place}/{analyzer}.run --bm25 --k1 1.5 --b 0.75 --hits {3 * DEPTH} --threads 2 --batch-size 64 "
        + options
    )
    rankings: list[Ranking] = [[] for _ in corpus[1]]
    for line in (place / f"{analyzer}.run").read_text(encoding="utf-8").splitlines():
        query, _, name, _, score, _ = line.split()
        rankings[int(query)].append((name, float(score)))
    assert_agree(rankings, search(ours[analyzer], corpus[1]))


@pytest.mark.parametrize("analyzer", ["bm25s", "lucene-english"])
def test_we_read_its_indexes_and_rank_alike(
    analyzer: str,
    corpus: tuple[ChunkTable, list[str]],
    ours: dict[str, Index],
    theirs: dict[str, Path],
    by_searcher: dict[str, list[Ranking]],
) -> None:
    with LuceneIndex.open_foreign(theirs[analyzer], BM25Settings(analyzer=analyzer)) as index:
        found = search(index, corpus[1])
    assert_agree(by_searcher[f"theirs-{analyzer}"], found)
    # And bit for bit as the index that we make of the same texts.
    assert found == search(ours[analyzer], corpus[1])


def test_its_index_becomes_one_of_ours(
    corpus: tuple[ChunkTable, list[str]], theirs: dict[str, Path], place: Path
) -> None:
    with LuceneIndex.open_foreign(theirs["lucene-english"], BM25Settings(analyzer="lucene-english")) as index:
        expected = search(index, corpus[1])
        index.save(place / "adopted")
    with LuceneIndex.load(place / "adopted") as adopted:
        assert search(adopted, corpus[1]) == expected
