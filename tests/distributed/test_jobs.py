"""A job in blocks makes the index of one machine, goes on where it was stopped, and puts aside what fails."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyarrow import parquet

from autoindex_haystack.collection import load_corpus
from autoindex_haystack.distributed import LocalEngine, index_child, index_corpus, parts
from autoindex_haystack.distributed.output import Output
from autoindex_haystack.errors import BackendError, CollectionError, ProgramError, RunError
from autoindex_haystack.retrieval import ChunkTable, get_backend
from autoindex_haystack.sandbox import DocumentFile, Limits, ProgramRunner
from haystack_integrations.common.autoindex.job_store import JobStore
from tests.distributed.conftest import QUERIES, record, write_lines

SMALL = 2_000


KILLED = """
import sys
from autoindex_haystack import load_frozen
from autoindex_haystack.distributed import LocalEngine, index_corpus

corpus, frozen, out = sys.argv[1:]
index_corpus([corpus], load_frozen(frozen), out, engine=LocalEngine(1), backend=None, block_bytes=1 << 20)
"""


def run(corpus, frozen, out, *, workers=1, **how):
    how.setdefault("block_bytes", SMALL)
    return index_corpus([str(corpus)], frozen, str(out), engine=LocalEngine(workers), **how)


def rows(out):
    return [row for path in sorted((out / "chunks").glob("*.parquet")) for row in parquet.read_table(path).to_pylist()]


def stamps(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def whole(frozen, folder):
    """The chunks of a corpus, from the program run over it as one."""
    documents = [d for name in ("a.jsonl", "b.jsonl.gz") for d in load_corpus(folder / name, metadata_fields=("year",))]
    with DocumentFile(documents) as file, ProgramRunner(frozen.program, file) as runner:
        return runner.run().chunks


def found(index, chunks_per_document=10_000):
    results = index.search_documents(QUERIES, chunks_per_document)
    return [[(index.document_ids[d], s) for d, s in zip(r.ordinals.tolist(), r.scores, strict=True)] for r in results]


@pytest.mark.parametrize("backend", ["bm25s", "lucene"])
def test_the_index_is_that_of_one_machine(corpus, frozen, tmp_path, backend, check_index):
    made = run(corpus, frozen, tmp_path / "out", backend=backend, workers=2 if backend == "lucene" else 1)
    assert (made.documents, made.failed, made.blocks > 5, made.resumed) == (200, 0, True, 0)
    with (
        get_backend(backend).build(whole(frozen, corpus), frozen.manifest.settings.bm25) as expected,
        get_backend(backend).load(tmp_path / "out" / "index") as index,
    ):
        assert list(index.document_ids) == list(expected.document_ids)
        assert index.documents.tolist() == expected.documents.tolist()
        assert found(index) == found(expected)
        assert made.chunks == len(index)
    if backend == "lucene":
        check_index(tmp_path / "out" / "index" / "lucene")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["blocks", "chunks", "index", "job.json"]


def test_shards_are_kept_and_can_be_searched_each_and_together(corpus, frozen, tmp_path, monkeypatch):
    # In this process, which may have a Java machine: it takes its time to start.
    monkeypatch.setattr(parts, "in_own_process", lambda asked: index_child.build(Output(asked["url"]), asked))
    made = run(corpus, frozen, tmp_path / "out", shards=2, workers=2)
    assert made.parts == 2
    chunks = whole(frozen, corpus)
    ids: list[str] = []
    for folder in sorted((tmp_path / "out" / "shards").iterdir()):
        with get_backend("lucene").load(folder) as index:
            [ranking] = index.search(["engine"], 10_000)
            texts = [chunks.texts[o + len(ids)] for o in ranking.ordinals.tolist()]
            assert texts
            assert all("engine" in text for text in texts)
            ids += [index.document_ids[d] for d in index.documents]
    assert ids == [chunks.document_ids[d] for d in chunks.documents]
    lucene, folders = get_backend("lucene"), sorted((tmp_path / "out" / "shards").iterdir())
    with lucene.load_parts(folders) as index, lucene.build(chunks, frozen.manifest.settings.bm25) as expected:
        assert found(index) == found(expected)
    store = JobStore(tmp_path / "out")
    best = store.search_documents("ice on the wing", top_k=3)
    assert len(best) == 3
    assert all(d.content == next(r["text"] for r in map(record, range(200)) if r["_id"] == d.id) for d in best)
    store.close()


def test_what_is_finished_is_not_done_again(corpus, frozen, tmp_path):
    out = tmp_path / "out"
    run(corpus, frozen, out, backend=None)
    before, expected = stamps(out / "chunks"), rows(out)
    (out / "blocks" / "00000002.json").unlink()
    (out / "chunks" / "00000003.parquet.0123.unfinished").write_bytes(b"cut off")
    made = run(corpus, frozen, out, backend=None)
    assert made.resumed == made.blocks - 1
    assert not list(out.rglob("*.unfinished"))
    after = stamps(out / "chunks")
    assert {name for name, stamp in before.items() if after[name] != stamp} == {"00000002.parquet"}
    assert rows(out) == expected


def test_a_killed_job_goes_on(corpus, frozen, tmp_path):
    out, done = tmp_path / "out", tmp_path / "done"
    run(corpus, frozen, done, backend=None)
    write_lines(corpus / "c.jsonl", [record(n) | {"_id": f"c{n}", "text": "ice " * 25_000} for n in range(100)])
    child = subprocess.Popen([sys.executable, "-c", KILLED, corpus, frozen.path, out], start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while len(list((out / "blocks").glob("*.json"))) < 2:
            assert time.monotonic() < deadline
            assert child.poll() is None
            time.sleep(0.01)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    before = {name: stamp for name, stamp in stamps(out / "blocks").items() if name.endswith(".json")}
    assert not (out / "index").exists()
    made = run(corpus, frozen, out, backend=None, block_bytes=1 << 20)
    assert made.resumed == len(before) < made.blocks
    assert {name: stamp for name, stamp in stamps(out / "blocks").items() if name in before} == before
    assert [row for row in rows(out) if not row["doc_id"].startswith("c")] == rows(done)


def test_two_processes_are_not_at_work_on_one_job(corpus, frozen, tmp_path):
    out, engine = str(tmp_path / "out"), LocalEngine(1)
    with Output(out).alone(), pytest.raises(RunError, match=f"another process is at work on {out}; wait"):
        index_corpus([corpus], frozen, out, engine=engine, backend=None)
    index_corpus([corpus], frozen, out, engine=engine, backend=None)
    assert {path.name for path in tmp_path.iterdir()} == {"corpus", "frozen", "out"}


def test_poisoned_documents_are_put_aside_with_their_errors(corpus, frozen, tmp_path):
    bad = [record(500, "poison"), "{broken", {"_id": 7, "text": "x"}, {"_id": "n", "text": None}]
    write_lines(corpus / "c.jsonl", [record(501), *bad, record(502)])
    out = tmp_path / "out"
    with pytest.raises(ProgramError, match=r"4 documents of 206 failed, the first at .*c\.jsonl, byte \d+") as error:
        run(corpus, frozen, out, backend=None)
    assert error.value.exit_code == 1
    assert not (out / "index").exists()
    made = run(corpus, frozen, out, backend=None, limits=Limits(unreachable=0.05))
    assert (made.documents, made.failed, made.resumed) == (206, 4, made.blocks)
    [file] = (out / "chunks").glob("*.failed.jsonl")
    failed = [json.loads(line) for line in file.read_text().splitlines()]
    assert [one["doc_id"] for one in failed] == [record(500)["_id"], "", "7", "n"]
    for one, part in zip(failed, ["cannot swallow", "broken JSON", "must be a string", "is missing"], strict=True):
        assert part in one["error"]
        assert "c.jsonl, byte" in one["where"]
    assert {record(501)["_id"], record(502)["_id"]} <= {row["doc_id"] for row in rows(out)}


def test_a_program_that_loses_too_many_documents_is_refused(frozen, tmp_path):
    records = [{"_id": f"t{n}", "title": "", "text": "wing" if n else "the w."} for n in range(60)]
    path = write_lines(tmp_path / "c.jsonl", records)
    assert run(path, frozen, tmp_path / "one", backend=None).unreachable == 0
    lost = write_lines(tmp_path / "lost.jsonl", [*records, {"_id": "lost", "title": "Wing", "text": "..."}])
    out = tmp_path / "two"
    with pytest.raises(ProgramError, match="the program leaves 1 of 61 documents without any token, the first is lost"):
        run(lost, frozen, out, backend=None)
    assert run(lost, frozen, out, backend=None, limits=Limits(unreachable=0.02)).unreachable == 1


@pytest.mark.parametrize("where", ["a.jsonl", "c.jsonl"])
def test_an_id_that_repeats_is_refused(corpus, frozen, tmp_path, where):
    with (corpus / where).open("a") as file:
        file.write(json.dumps(record(3)) + "\n")
    both = "a.jsonl; ids" if where == "a.jsonl" else "a.jsonl and in .*c.jsonl; ids"
    with pytest.raises(CollectionError, match=rf"the id 'd0111' occurs more than once in .*{both}"):
        run(corpus, frozen, tmp_path / "out", backend=None)


def test_another_job_is_refused_and_replaced_when_forced(corpus, frozen, tmp_path):
    out = tmp_path / "out"
    run(corpus, frozen, out, backend=None)
    for other in ({"block_bytes": SMALL + 1}, {"shards": 2}, {"backend": "bm25s"}):
        with pytest.raises(RunError, match="holds another job"):
            run(corpus, frozen, out, **{"backend": None, **other})
    (corpus / "a.jsonl").write_bytes((corpus / "a.jsonl").read_bytes() + b"\n\n")
    with pytest.raises(RunError, match="holds another job"):
        run(corpus, frozen, out, backend=None)
    assert run(corpus, frozen, out, backend=None, force=True).resumed == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thing").touch()
    with pytest.raises(RunError, match="exists"):
        run(corpus, frozen, tmp_path / "mine")


def test_a_corpus_without_documents_is_an_error(frozen, tmp_path):
    path = write_lines(tmp_path / "c.jsonl", ["", " "])
    with pytest.raises(CollectionError, match=r"c\.jsonl has no documents"):
        run(path, frozen, tmp_path / "out")


def test_a_file_system_that_cannot_move_folders_gets_the_same(corpus, frozen, tmp_path):
    run(corpus, frozen, tmp_path / "out", backend="bm25s")
    url = f"memory://{tmp_path.name}/out"
    made = run(corpus, frozen, url, backend=None)
    remote = Output(url)
    index_child.build(
        remote, {"blocks": list(range(made.blocks)), "first": None, "backend": "bm25s", "bm25": {}, "folder": "index"}
    )
    assert "finished.json" in (remote.folder / "index").names()
    (remote.folder / "index").fetch(tmp_path / "fetched")
    with (
        get_backend("bm25s").load(tmp_path / "fetched") as one,
        get_backend("bm25s").load(tmp_path / "out/index") as two,
    ):
        assert found(one) == found(two)
    assert not [name for name in (remote.folder / "chunks").names() if "unfinished" in name]


def test_an_engine_that_cannot_join_says_so(tmp_path):
    with pytest.raises(BackendError, match="bm25s engine cannot join parts"):
        get_backend("bm25s").merge([tmp_path], tmp_path / "index")


def test_parts_of_different_indexes_are_not_joined(tmp_path):
    lucene, settings = get_backend("lucene"), {"k1": 1.5}
    table = ChunkTable.of_texts(["a wing", "an engine"])
    from autoindex_haystack.retrieval import BM25Settings

    lucene.build_part(table, BM25Settings(**settings), tmp_path / "0", 0)
    lucene.build_part(table, BM25Settings(k1=2.0), tmp_path / "1", 2)
    lucene.build_part(table, BM25Settings(**settings), tmp_path / "2", 3)
    for some in (["0", "1"], ["0", "2"], ["2"]):
        with pytest.raises(BackendError, match="is no part of the same index"):
            lucene.merge([tmp_path / part for part in some], Path(tmp_path / "index"))
    with pytest.raises(BackendError, match="at least one part"):
        lucene.merge([], tmp_path / "index")
    assert not (tmp_path / "index").exists()
