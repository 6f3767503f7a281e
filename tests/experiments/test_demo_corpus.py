import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from autoindex_haystack.errors import CollectionError, RunError
from autoindex_haystack.experiments.demo import DemoCounts, corpus, write_collection
from autoindex_haystack.experiments.demo.corpus import Question, demo_questions
from autoindex_haystack.experiments.demo.entries import Entry

FILES = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")
ROOT = Path(__file__).parents[2]
# Documented in all supported versions of Python, but not from their first release on.
LATE_DOCSTRINGS = {"asyncio.TaskGroup"}
WRITE_ELSEWHERE = """
import sys
from pathlib import Path
from autoindex_haystack.experiments.demo import write_collection

write_collection(Path(sys.argv[1]))
print(*sys.modules)
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DemoCounts]:
    folder = tmp_path_factory.mktemp("demo") / "collection"
    return folder, write_collection(folder)


@pytest.fixture(scope="module")
def documents(written: tuple[Path, DemoCounts]) -> dict[str, dict[str, object]]:
    lines = (written[0] / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["_id"]: record for record in map(json.loads, lines)}


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """The collection as another process writes it, and the modules that process has imported."""
    folder = tmp_path_factory.mktemp("elsewhere") / "collection"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7", "LC_ALL": "C"}
    process = subprocess.run(
        [sys.executable, "-c", WRITE_ELSEWHERE, str(folder)],
        env=environment,
        cwd=folder.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not process.stderr
    return folder, set(process.stdout.split())


def text_of(documents: dict[str, dict[str, object]], name: str) -> str:
    return str(documents[name]["text"])


def test_same_bytes_in_another_process(written, elsewhere):
    for name in FILES:
        assert (written[0] / name).read_bytes() == (elsewhere[0] / name).read_bytes()


@pytest.mark.parametrize(
    "module", ["antigravity", "this", "tkinter", "idlelib", "turtle", "curses", "readline", "test"]
)
def test_nothing_with_side_effects_is_imported(elsewhere, module):
    assert not {name for name in elsewhere[1] if name == module or name.startswith(f"{module}.")}


def test_counts_are_those_of_the_files(written):
    folder, counts = written
    lines = {name: len((folder / name).read_text(encoding="utf-8").splitlines()) for name in FILES}
    assert lines == {
        "corpus.jsonl": counts.documents,
        "queries.jsonl": counts.queries,
        "qrels.tsv": counts.judgments + 1,
    }
    assert counts.queries + counts.dropped_queries == len(demo_questions())


def test_several_thousand_documents_with_unique_ids(written, documents):
    assert 4_000 <= len(documents) <= 9_000
    assert len(documents) == written[1].documents


def test_documents_have_the_layout_of_a_corpus(documents):
    for name, record in documents.items():
        assert list(record) == ["_id", "title", "text", "metadata"]
        assert record["title"] == name
        assert record["metadata"] == {}
        assert record["text"]


def test_no_private_names(documents):
    assert not [name for name in documents if any(part.startswith("_") for part in name.split("."))]


def test_no_tests_toys_or_bundled_programs(documents):
    areas = {name.partition(".")[0] for name in documents}
    assert areas.isdisjoint({"test", "idlelib", "lib2to3", "turtledemo", "pip", "this", "antigravity", "encodings"})


def test_no_addresses_of_objects(documents):
    assert not [name for name, record in documents.items() if " at 0x7" in str(record["text"])]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("shutil", ["shutil - Utility functions for copying", "rmtree", "disk_usage"]),
        ("shutil.rmtree", ["rmtree(path, ignore_errors=False", "Recursively delete a directory tree."]),
        ("os.path.join", ["join(a, *p)", "Join two or more pathname components"]),
        ("os.unlink", ["unlink(path, *, dir_fd=None)", "Remove a file"]),
        ("str.split", ["split(self, /, sep=None, maxsplit=-1)", "substrings"]),
        ("open", ["open(file, mode='r'", "Open file and return a stream."]),
        ("type", ["class type(object)", "the object's type"]),
        ("str.maketrans", ["translation table"]),
        ("json.JSONDecoder", ["class JSONDecoder", "object_hook=None", "raw_decode"]),
        ("collections.OrderedDict.move_to_end", ["move_to_end(self, /, key, last=True)"]),
        ("threading.Lock.acquire", ["blocking"]),
        ("socket.socket.settimeout", ["timeout"]),
        ("csv.writer.writerow", ["writerow"]),
        ("random.choice", ["Choose a random element"]),
        ("asyncio.to_thread", ["async to_thread(func, /, *args, **kwargs)"]),
        ("pathlib.PurePath.suffix", ["The final component's last suffix"]),
        ("getpass.getpass", ["getpass(prompt='Password: '", "Prompt for a password"]),
        ("concurrent.futures.ThreadPoolExecutor", ["class ThreadPoolExecutor", "max_workers"]),
        ("argparse.ArgumentParser.add_argument", ["add_argument(dest, ..., name=value, ...)"]),
        ("logging.handlers.RotatingFileHandler", ["maxBytes=0", "Rollover occurs", "doRollover"]),
    ],
)
def test_well_known_pages_say_what_help_says(documents, name, parts):
    text = text_of(documents, name)
    assert [part for part in parts if part not in text] == []


def test_a_class_page_does_not_repeat_its_methods(documents):
    assert "Send data to stdin" in text_of(documents, "subprocess.Popen.communicate")
    assert "Send data to stdin" not in text_of(documents, "subprocess.Popen")


@pytest.mark.parametrize("name", ["IOError", "io.open", "json.decoder.JSONDecoder", "socket.SocketType.recv"])
def test_an_object_has_no_second_page_under_another_name(documents, name):
    assert name not in documents


def test_every_judged_document_exists(written, documents):
    missing = {name for question in demo_questions() for name in question.relevant} - documents.keys()
    assert missing <= LATE_DOCSTRINGS
    assert written[1].dropped_judgments == len(missing)
    assert written[1].dropped_queries == 0


def test_qrels_hold_the_judgments_of_existing_documents(written, documents):
    header, *lines = (written[0] / "qrels.tsv").read_text(encoding="utf-8").splitlines()
    assert header == "query-id\tcorpus-id\tscore"
    assert lines == [
        f"{question.id}\t{name}\t{grade}"
        for question in demo_questions()
        for name, grade in question.relevant.items()
        if name in documents
    ]


def test_questions_are_many_and_differ():
    questions = demo_questions()
    assert len(questions) >= 150
    assert Counter(question.id for question in questions).most_common(1)[0][1] == 1
    assert Counter(question.text.casefold() for question in questions).most_common(1)[0][1] == 1


def test_every_question_has_a_direct_answer():
    assert not [question.text for question in demo_questions() if 2 not in question.relevant.values()]


def test_what_an_interpreter_lacks_is_dropped_and_counted(tmp_path, monkeypatch):
    entry = Entry("shutil.rmtree", "rmtree(path)")
    lost = Question(_id="q1", text="walk a tree", relevant={"os.walk": 2, "os.fwalk": 1})
    kept = Question(_id="q2", text="delete a tree", relevant={"shutil.rmtree": 2, "os.walk": 1})
    monkeypatch.setattr(corpus, "demo_documents", lambda: {entry.name: entry})
    monkeypatch.setattr(corpus, "demo_questions", lambda: [lost, kept])

    counts = write_collection(tmp_path / "collection")

    assert counts == DemoCounts(documents=1, queries=1, judgments=1, dropped_queries=1, dropped_judgments=3)
    assert (tmp_path / "collection/queries.jsonl").read_text() == '{"_id": "q2", "text": "delete a tree"}\n'
    assert (tmp_path / "collection/qrels.tsv").read_text().splitlines()[1:] == ["q2\tshutil.rmtree\t2"]


def test_an_interpreter_without_source_files_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus.sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(CollectionError, match="no source of the standard library"):
        write_collection(tmp_path / "collection")


def test_an_existing_collection_is_replaced_only_on_request(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "demo_documents", dict)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(RunError, match="exists"):
        write_collection(tmp_path)
    write_collection(tmp_path, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
