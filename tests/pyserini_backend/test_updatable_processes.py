"""One index, several processes: a writer that is killed, a second writer, and readers elsewhere."""

import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from autoindex_haystack.retrieval import BM25Settings
from autoindex_haystack.retrieval.updatable import KeyedChunks, Snapshot, WriterBusy, open_updatable

SETTINGS = BM25Settings()

Start = Callable[..., "subprocess.Popen[str]"]

WRITER = """
import sys
from pathlib import Path
from autoindex_haystack.retrieval import BM25Settings
from autoindex_haystack.retrieval.updatable import KeyedChunks, open_updatable

def chunks(first, count, text="common"):
    ids = [f"d{n}" for n in range(first, first + count)]
    return KeyedChunks.of_texts(ids, [f"{text} own{n}" for n in range(count)])

def say(text):
    print(text, flush=True)

index = open_updatable("lucene", Path("index"), BM25Settings())
writer = index.writer()
"""


def ids(snapshot: Snapshot) -> set[str]:
    return set(snapshot.chunk_ids)


def found(snapshot: Snapshot, query: str) -> set[str]:
    [ranking] = snapshot.index.search([query], len(snapshot.index))
    return {snapshot.chunk_ids[n] for n in ranking.ordinals}


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    text = process.stdout.readline()
    if not text:
        assert process.stderr is not None
        pytest.fail(f"the process ended: {process.stderr.read()}")
    return text.strip()


def test_a_kill_during_writing_leaves_the_last_commit(
    tmp_path: Path, start_python: Start, check_index: Callable[[Path], None]
) -> None:
    script = """
writer.write(chunks(0, 1000))
writer.commit(state="kept")
writer.delete([f"d{n}" for n in range(500)])
for part in range(1000):
    writer.write(chunks(5000 + 200 * part, 200, " ".join(["lost", *(f"{part}x{n}" for n in range(1000))])))
    say("writing")
"""
    # With so little memory, Lucene soon writes files that no commit knows of.
    with start_python(WRITER + script, folder=tmp_path, AUTOINDEX_JVM_HEAP="64m") as process:
        committed = None
        while committed is None or not set((tmp_path / "index").glob("*.si")) - committed:
            assert line(process) == "writing"
            committed = committed or set((tmp_path / "index").glob("*.si"))
        process.kill()
    with open_updatable("lucene", tmp_path / "index", SETTINGS) as index:
        snapshot = index.snapshot()
        assert (snapshot.state, len(snapshot.chunk_ids)) == ("kept", 1000)
        assert found(snapshot, "lost") == set()
        assert len(found(snapshot, "common")) == 1000
        check_index(tmp_path / "index")
        with index.writer() as writer:
            writer.delete(["d7"])
        assert len(found(index.snapshot(), "common")) == 999
    check_index(tmp_path / "index")


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_at_any_moment_leaves_a_whole_commit(
    tmp_path: Path, start_python: Start, check_index: Callable[[Path], None], seed: int
) -> None:
    script = """
for n in range(1, 100_000):
    writer.write(chunks(n, 20))
    writer.delete([f"d{n - 1}"])
    writer.commit(state=str(n), expunge=n % 3 == 0)
    say(n)
"""
    with start_python(WRITER + script, folder=tmp_path) as process:
        told = line(process)
        end = time.monotonic() + random.Random(seed).uniform(0, 0.5)
        while time.monotonic() < end:
            told = line(process)
        process.kill()
    with open_updatable("lucene", tmp_path / "index", SETTINGS) as index:
        snapshot = index.snapshot()
        n = int(snapshot.state)
        assert n >= int(told)
        assert ids(snapshot) == {f"d{m}" for m in range(n, n + 20)} == found(snapshot, "common")
    check_index(tmp_path / "index")


def test_a_second_writer_in_another_process_gets_an_error_that_names_the_folder(
    tmp_path: Path, start_python: Start
) -> None:
    with start_python(WRITER + "say('open'); sys.stdin.read()", folder=tmp_path) as process:
        assert line(process) == "open"
        with open_updatable("lucene", tmp_path / "index", SETTINGS) as index:
            with pytest.raises(WriterBusy, match=rf"{tmp_path}/index cannot be written: another writer has it open"):
                index.writer()
            process.communicate()
            index.writer().close()


def test_readers_see_what_another_process_commits(tmp_path: Path, start_python: Start) -> None:
    script = """
for order in sys.stdin:
    exec(order)
    say("done")
"""

    with start_python(WRITER + script, folder=tmp_path) as process:

        def tell(order: str) -> None:
            assert process.stdin is not None
            process.stdin.write(order + "\n")
            process.stdin.flush()
            assert line(process) == "done"

        tell("writer.write(chunks(0, 10)); writer.commit(state='ten')")
        with open_updatable("lucene", tmp_path / "index", SETTINGS) as index:
            before = index.snapshot()
            tell("writer.write(chunks(10, 10)); writer.delete(['d0'])")
            assert index.snapshot() is before
            tell("writer.commit(state='nineteen', expunge=True)")
            after = index.snapshot()
            assert (before.state, after.state) == ("ten", "nineteen")
            assert ids(after) == found(after, "common") == {f"d{n}" for n in range(1, 20)}
            assert found(before, "common") == {f"d{n}" for n in range(10)}
        process.communicate()


def test_synchronizing_after_a_kill_completes_what_was_interrupted(tmp_path: Path, start_python: Start) -> None:
    script = """
writer.write(chunks(0, 100)); writer.commit(state="old")
writer.write(chunks(50, 100, "new")); say("written"); sys.stdin.read()
"""
    with start_python(WRITER + script, folder=tmp_path) as process:
        assert line(process) == "written"
        process.kill()
    wanted = KeyedChunks.of_texts([f"d{n}" for n in range(50, 150)], [f"new own{n}" for n in range(100)])
    with open_updatable("lucene", tmp_path / "index", SETTINGS) as index:
        snapshot = index.synchronize(wanted, state="new")
        assert ids(snapshot) == found(snapshot, "new")
        assert (
            snapshot.digests.tolist()
            == wanted.take([wanted.ids.index(i) for i in snapshot.chunk_ids]).digests().tolist()
        )
