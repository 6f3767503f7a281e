"""The run folder: written whole, a journal whose lines are on disk before they count, results read back."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autoindex_haystack.collection import Split
from autoindex_haystack.errors import RunError
from autoindex_haystack.evaluation import paired_difference
from autoindex_haystack.frozen import Figures, Gain
from autoindex_haystack.program import Program
from autoindex_haystack.retrieval import BM25Settings
from autoindex_haystack.runs import (
    RunFolder,
    RunInfo,
    RunResult,
    RunSettings,
    installed_versions,
    read_journal,
    read_result,
)

SPLIT = Split(collection="small", seed=3, validation=("q1",), held_out=("q2", "q3"))
INFO = RunInfo(
    settings=RunSettings(
        iterations=5,
        candidates=4,
        seed=0,
        tolerance=1e-5,
        proposer="builtin",
        backend="bm25s",
        bm25=BM25Settings(),
        metadata_fields=("year",),
        timeout=900,
        max_unreachable=0.01,
    ),
    collection="small",
    fingerprint="f",
    id_key="00",
    versions=installed_versions(),
    isolation=["fresh interpreter"],
)
RESULT = RunResult(
    collection="small",
    documents=3,
    queries={"validation": 1, "held_out": 2},
    baseline=Figures(held_out={"recall@100": 1 / 3}),
    learned=Figures(held_out={"recall@100": 0.1 + 0.2}),
    gain=Gain(
        objective="recall@100",
        acceptance="guarded",
        detectable=None,
        validation=0.1,
        corrected=0.1 - 0.2,
        held_out=0.0,
        low=-1 / 3,
        high=1 / 3,
        p_value=1.0,
        p_sign_flip=1.0,
    ),
    differences={"recall@100": paired_difference([1, 0.5], [0, 0.25])},
    adopted=1,
    tried=4,
    dropped=0,
    evaluated=4,
    failed=1,
    program_sha256="p",
    component_sha256="c",
    frozen="/somewhere/frozen",
    growth=1.5,
    unreachable=0,
    seconds={"total": 1.25},
    isolation=["fresh interpreter"],
    notes=["1 query has no relevant document and is left out."],
)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    with RunFolder.create(tmp_path / "run", INFO, SPLIT) as folder:
        yield folder


def journal(folder: RunFolder) -> list[dict]:
    return list(read_journal(folder.path))


def test_a_new_folder_says_how_the_run_is_done(folder):
    assert sorted(path.name for path in folder.path.iterdir()) == [".lock", "programs", "run.json", "split.json"]
    assert RunInfo.model_validate_json((folder.path / "run.json").read_bytes()) == INFO
    assert Split.model_validate_json((folder.path / "split.json").read_bytes()) == SPLIT


def test_a_folder_that_is_taken_is_refused_unless_it_may_be_replaced(folder):
    folder.append({"record": "old"})
    folder.close()
    with pytest.raises(RunError, match="exists; choose another place or replace it with --force"):
        RunFolder.create(folder.path, INFO, SPLIT)
    assert journal(folder) == [{"record": "old"}]
    RunFolder.create(folder.path, INFO, SPLIT, force=True)
    assert not (folder.path / "journal.jsonl").exists()


def test_a_file_in_the_place_is_refused_and_an_empty_folder_is_not(tmp_path):
    (tmp_path / "file").write_text("kept")
    for place in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(RunError):
            RunFolder.create(place, INFO, SPLIT)
    assert (tmp_path / "file").read_text() == "kept"
    (tmp_path / "empty").mkdir()
    RunFolder.create(tmp_path / "empty", INFO, SPLIT)


def test_programs_are_kept_once_under_their_hash(folder):
    program = Program("x = 'é\\r\\n'\r\n")
    for _ in range(2):
        folder.add_program(program.source, program.sha256)
    [path] = (folder.path / "programs").iterdir()
    assert path.name == f"{program.sha256}.py"
    assert path.read_bytes() == program.source.encode()


def test_records_are_lines_of_json_in_the_order_in_which_they_came(folder):
    records = [{"record": "a", "text": "ü\n\u2028 \x00"}, {"record": "b", "nested": {"x": [1.5, None]}}]
    for record in records:
        folder.append(record)
    assert journal_lines(folder) == 2
    assert journal(folder) == records


def journal_lines(folder: RunFolder) -> int:
    return (folder.path / "journal.jsonl").read_bytes().count(b"\n")


def test_half_a_surrogate_pair_of_a_model_s_answer_does_not_end_the_run(folder):
    folder.append({"idea": "broken \ud83d here"})
    assert journal(folder) == [{"idea": "broken \ud83d here"}]


def test_a_record_that_is_no_json_is_refused_and_leaves_no_half_line(folder):
    folder.append({"good": 1})
    for wrong in ({"x": float("nan")}, {"x": {1}}):
        with pytest.raises((ValueError, TypeError)):
            folder.append(wrong)
    assert journal(folder) == [{"good": 1}]


def test_a_record_is_on_disk_when_append_returns(folder, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size) or real(descriptor))
    folder.append({"a": 1})
    folder.append({"b": 2})
    size = len((folder.path / "journal.jsonl").read_bytes())
    assert [done for done in synced if done in (size // 2, size)] == [size // 2, size]


def test_records_of_a_process_that_was_killed_are_there(folder):
    script = (
        "import os, sys; from pathlib import Path; from autoindex_haystack.runs import RunFolder\n"
        "folder = RunFolder(Path(sys.argv[1]))\n"
        "for n in range(3): folder.append({'n': n})\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(folder.path)], timeout=60, check=False)
    assert done.returncode == -9
    assert journal(folder) == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_a_result_is_read_back_as_it_was_written(folder):
    folder.finish(RESULT)
    assert read_result(folder.path) == RESULT
    folder.close()
    assert not list(folder.path.glob(".*"))


@pytest.mark.parametrize("content", [None, b"", b"{}", b"[]", b"\xff"])
def test_a_folder_without_a_finished_run_is_refused(folder, content):
    if content is not None:
        (folder.path / "result.json").write_bytes(content)
    with pytest.raises(RunError, match="holds no finished run"):
        read_result(folder.path)


def test_versions_of_what_a_result_depends_on_are_noted():
    versions = installed_versions()
    assert versions["python"] == ".".join(map(str, sys.version_info[:3]))
    assert {"autoindex-haystack", "bm25s", "numpy", "ir-measures", "haystack-ai"} <= set(versions)
