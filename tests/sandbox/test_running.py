"""What an honest program gets and gives: documents and ids, text of every kind and size, many workers, many threads."""

import dataclasses
import inspect
import os
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoindex_haystack import program as contract
from autoindex_haystack.errors import Cancelled, ProgramError
from autoindex_haystack.program import Document, Program, builtin_program
from autoindex_haystack.sandbox import DocumentFile, Limits, ProgramRunner, Spent
from autoindex_haystack.sandbox.worker import program as worker

from .conftest import DOCUMENTS, SHORT, program

IDS = program("chunks.append(Chunk('0', doc.doc_id, doc.doc_id))")
ECHO = program(
    """
chunks.append(Chunk("a", doc.doc_id, doc.text, {"kept": doc.metadata}))
chunks.append(Chunk("b", doc.doc_id, doc.text[::-1]))
"""
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=4,
)


def test_chunks_come_back_with_their_documents_in_the_order_of_the_corpus(texts):
    body = "chunks = [Chunk('b', doc.doc_id, 'late ' + doc.text)] + [Chunk('a', doc.doc_id, 'x')] * (doc.text != 'two')"
    assert texts(program(body)) == [
        ("first", "late one"),
        ("first", "x"),
        ("second", "late two"),
        ("third", "late three"),
        ("third", "x"),
    ]


def test_a_chunk_s_id_outside_is_the_document_s_id_and_its_place(run):
    body = "chunks += [Chunk(f'{n} of mine', doc.doc_id, 'x') for n in range(len(doc.text) - 2)]"
    assert run(program(body)).chunks.chunk_ids() == ["first#0", "second#0", "third#0", "third#1", "third#2"]


@settings(max_examples=60)
@given(st.lists(st.tuples(TEXT, st.dictionaries(TEXT, JSON, max_size=2)), max_size=6))
def test_any_text_and_metadata_survive_the_way_there_and_back(warm, contents):
    file, runner = warm
    file.write([Document(str(i), text, metadata) for i, (text, metadata) in enumerate(contents)])
    output = runner.run(metadata=True)
    assert output.chunks.texts == [part for text, _ in contents for part in (text, text[::-1])]
    assert output.metadata == [own for _, metadata in contents for own in ({"kept": metadata}, None)]
    assert output.chunks.documents.tolist() == [i for i in range(len(contents)) for _ in range(2)]


@pytest.fixture(scope="module")
def warm():
    with DocumentFile() as file, ProgramRunner(ECHO, file) as runner:
        runner.start()
        yield file, runner


def test_no_documents_and_empty_documents_are_fine(texts):
    assert texts(program(), []) == []
    assert texts(program(), [Document("a", ""), Document("b", "")]) == [("a", ""), ("b", "")]
    assert texts(program("pass")) == []


def test_a_document_of_20_mb_goes_through(run):
    text = "größe " * (20_000_000 // 8)
    [back] = run(builtin_program("full_document"), [Document("large", text)], limits=Limits(seconds=60)).chunks.texts
    assert back == text


def test_many_small_documents_go_through(run):
    documents = [Document(f"d{i}", f"text {i}") for i in range(100_000)]
    told: list[int] = []
    chunks = run(
        builtin_program("full_document"),
        documents,
        how={"progress": told.append},
        workers=2,
        limits=Limits(seconds=120),
    ).chunks
    assert chunks.texts == [document.text for document in documents]
    assert chunks.documents.tolist() == list(range(100_000))
    assert told == sorted(told)
    assert told[-1] == 100_000


def test_several_workers_give_the_result_of_one(run):
    documents = [Document(str(i), f"{i} " * (i % 7), {"title": str(i % 3)}) for i in range(5_000)]
    body = "chunks += [Chunk(str(n), doc.doc_id, f'{n} {doc.text}', {'n': n}) for n in range(len(doc.text) % 4)]"
    one, three = (run(program(body), documents, how={"metadata": True}, workers=n) for n in (1, 3))
    assert one.chunks.texts == three.chunks.texts
    assert one.chunks.documents.tolist() == three.chunks.documents.tolist()
    assert one.metadata == three.metadata


def test_a_part_of_the_documents_can_be_run_also_backwards_and_in_batches(texts):
    documents = [Document(str(i), f"text {i}") for i in range(2_000)]
    whole = texts(program(), documents)
    assert texts(program(), documents, how={"ordinals": range(700, 1_900)}) == whole[700:1_900]
    assert texts(program(), documents, how={"ordinals": range(1_999, -1, -1), "batch": 7}) == whole
    assert texts(program(), documents, how={"ordinals": range(3, 3)}) == []
    some = [1_500, 3, 1_999, 4]
    assert texts(program(), documents, how={"ordinals": some, "batch": 3}) == [whole[i] for i in sorted(some)]


def test_a_run_that_goes_on_with_another_has_what_is_left_of_the_limits_of_the_corpus(run):
    documents = [Document(str(i), "x" * 10_000) for i in range(4)]
    limits = dataclasses.replace(SHORT, corpus_growth=2)
    tripled = program("chunks.append(Chunk('0', doc.doc_id, 3 * doc.text))")
    before = run(tripled, documents, {"ordinals": [0, 2]}, limits=limits)
    assert len(run(tripled, documents, {"ordinals": [1]}, limits=limits).chunks) == 1
    with pytest.raises(ProgramError, match="more than 80,000 bytes for the corpus"):
        run(tripled, documents, {"ordinals": [1], "before": before.spent}, limits=limits)
    late = Spent(SHORT.seconds + 1)
    with pytest.raises(ProgramError, match="longer than 20 seconds"):
        run(program("while True: pass"), documents, {"before": late})


@pytest.mark.parametrize("looks", [0, 1, 4])
@pytest.mark.parametrize("where", ["calibrate", "run"])
def test_a_busy_run_can_be_called_off(run, where, looks):
    """Also while its workers start: that is no failure of this machine."""
    busy = "while True: pass"
    endless = program(busy, members=f"def calibrate(self, docs):\n    {busy if where == 'calibrate' else 'return {}'}")
    left = iter(range(looks))
    with pytest.raises(Cancelled):
        run(endless, calibrate=True, cancelled=lambda: next(left, None) is None)


def test_metadata_comes_back_only_where_it_differs_from_the_document_s_and_when_asked_for(run):
    documents = [Document("a", "x", {"title": "T", "n": [1, None]})]
    for metadata, expected in (
        ("doc.metadata", None),
        ("dict(doc.metadata)", None),
        ("{}", None),
        ("{**doc.metadata, 'x': 'ü'}", {"title": "T", "n": [1, None], "x": "ü"}),
        ("doc.metadata.update(x=1) or doc.metadata", {"title": "T", "n": [1, None], "x": 1}),
    ):
        changing = program(f"chunks.append(Chunk('0', doc.doc_id, '', {metadata}))")
        assert run(changing, documents, how={"metadata": True}).metadata == [expected]
        assert run(changing, documents).metadata == []


def test_workers_stay_warm_between_runs_and_start_again_after_close(workers):
    with DocumentFile(DOCUMENTS) as file, ProgramRunner(program(), file, limits=SHORT) as runner:
        runner.run()
        runner.run()
        assert len(workers) == 1
        file.write([Document("new", "other")])
        assert runner.run().chunks.texts == ["other"]
        assert len(workers) == 1
        runner.close()
        runner.close()
        assert runner.run().chunks.texts == ["other"]
        assert len(workers) == 2


def test_a_runner_can_be_used_from_several_threads():
    documents = [Document(str(i), f"text {i}") for i in range(300)]
    results: dict[int, list[str]] = {}
    with DocumentFile(documents) as file, ProgramRunner(program(), file, limits=SHORT) as runner:
        threads = [
            threading.Thread(
                target=lambda n=n: results.update({n: runner.run(ordinals=range(30 * n, 30 * n + 30)).chunks.texts})
            )
            for n in range(10)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert results == {n: [f"text {i}" for i in range(30 * n, 30 * n + 30)] for n in range(10)}


def test_ids_are_opaque_and_depend_on_key_and_place_alone(run):
    seen = run(IDS, key=b"k" * 16).chunks.texts
    assert len(set(seen)) == 3
    assert all(len(name) == 32 and set(name) <= set("0123456789abcdef") for name in seen)
    renamed = [Document("x" * i, "other") for i in range(3)]
    assert run(IDS, renamed, key=b"k" * 16).chunks.texts == seen
    assert not set(run(IDS, key=b"l" * 16).chunks.texts) & set(seen)
    assert not set(run(IDS).chunks.texts) & set(run(IDS).chunks.texts)


def test_a_program_sees_the_title_and_the_named_metadata_and_nothing_of_the_ids(texts):
    body = "chunks.append(Chunk('0', doc.doc_id, repr((doc.text, doc.metadata, sorted(vars(doc)))))) "
    assert texts(program(body), [Document("secret-17", "x", {"title": "T", "year": 1})]) == [
        ("secret-17", repr(("x", {"title": "T", "year": 1}, ["doc_id", "metadata", "text"])))
    ]


def test_random_has_a_fixed_seed_whenever_it_is_used(texts):
    at_import = program(
        "chunks.append(Chunk('0', doc.doc_id, repr((TABLE, random.random(), doc.text))))",
        module="TABLE = random.sample(range(100), 5)",
    )
    first, *others = [text.rpartition(",")[0] for _, text in texts(at_import, workers=2)]
    assert others == [first] * 2, "the numbers do not go on from document to document"
    assert texts(at_import, workers=2) == texts(at_import, workers=1)
    inside = Program(
        at_import.source.replace("import random, re", "import re").replace("TABLE = ", "import random\nTABLE = ")
    )
    assert texts(inside) == texts(at_import)


def test_programs_find_the_contract_under_all_its_names(texts):
    source = """
from __future__ import annotations
import dataclasses, enum, sys, pathlib
import autoindex_haystack.program as contract
from schema import Document, Chunk as Other
from base import BasePreprocessor
from autoindex_haystack import program

@dataclasses.dataclass
class Part:
    text: str

class Preprocessor(BasePreprocessor):
    def preprocess(self, docs: list[Document]):
        assert contract.Chunk is Other is program.Chunk
        sys.path.insert(0, str(pathlib.Path(__file__).parents[4] / "evaluation"))
        return [dataclasses.replace(Other("0", doc.doc_id, Part(doc.text).text)) for doc in docs]
"""
    assert texts(Program(source)) == [("first", "one"), ("second", "two"), ("third", "three")]


def test_the_worker_s_own_classes_are_those_of_the_contract():
    """The worker cannot import them, so they are written down twice."""
    worker._make_dataclasses(dataclasses)
    for name in ("Document", "Chunk"):
        ours, theirs = getattr(contract, name), getattr(worker, name)
        described = [
            [(f.name, f.type, f.default_factory is dict) for f in dataclasses.fields(c)] for c in (ours, theirs)
        ]
        assert described[0] == described[1]
    methods = [
        {m: list(inspect.signature(getattr(c, m)).parameters) for m in ("__init__", "calibrate", "preprocess")}
        for c in (contract.BasePreprocessor, worker.BasePreprocessor)
    ]
    assert methods[0] == methods[1]
    assert vars(contract.BasePreprocessor()) == vars(worker.BasePreprocessor()) == {"state": {}}


def test_modules_of_the_list_can_be_imported_and_others_by_name_only(texts):
    from autoindex_haystack.program import ALLOWED_MODULES

    every = "\n".join(f"import {name}" for name in sorted(ALLOWED_MODULES - {"__future__"}))
    assert len(texts(program(module=every))) == 3
    assert (
        len(texts(program(module="import textwrap, datetime, zoneinfo"), allowed_imports=["datetime", "zoneinfo"])) == 3
    )


def test_the_environment_of_a_program_is_empty(run, monkeypatch):
    monkeypatch.setenv("AUTOINDEX_CANARY", "sk-secret")
    body = "chunks.append(Chunk('0', doc.doc_id, repr(dict(reach('environ'))) + repr(reach('getcwd')())))"
    seen = " ".join(run(program(body), isolation="process-only").chunks.texts)
    assert "CANARY" not in seen
    assert "sk-secret" not in seen
    environment, _, place = run(program(body), isolation="process-only").chunks.texts[0].rpartition("}")
    assert set(eval(environment + "}")) <= {"PYTHONHASHSEED", "LC_CTYPE"}
    assert place == "'/'"


def test_a_program_inherits_only_the_descriptors_it_needs(run):
    secret = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(secret, True)
    body = "chunks.append(Chunk('0', doc.doc_id, ' '.join(sorted(reach('listdir')('/proc/self/fd'), key=int))))"
    try:
        seen = run(program(body), isolation="process-only").chunks.texts[0].split()
    finally:
        os.close(secret)
    # Commands, log twice, documents, page, results, lifeline, the page's mapping, and the listing itself.
    assert seen == [str(n) for n in range(9)]


def test_the_documents_cannot_be_changed_by_a_program(run):
    body = "reach('pwrite')(3, b'changed', 100); chunks.append(Chunk('0', doc.doc_id, ''))"
    with pytest.raises(ProgramError, match=r"OSError: .* Bad file descriptor"):
        run(program(body), isolation="process-only")


def test_programs_run_in_processes_of_their_own_and_never_in_this_one(run, workers):
    body = "chunks.append(Chunk('0', doc.doc_id, str(reach('getpid')())))"
    pids = {int(text) for text in run(program(body)).chunks.texts}
    assert pids == set(workers)
    assert os.getpid() not in pids
    assert "candidate" not in sys.modules


def test_many_open_descriptors_in_the_host_are_no_obstacle(texts):
    kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(120)]
    try:
        assert len(texts(program())) == 3
    finally:
        for descriptor in kept:
            os.close(descriptor)


def test_a_worker_s_processor_time_is_limited_anew_for_every_piece_of_work():
    """Otherwise a worker that a pipeline keeps warm would be killed in the middle of an honest document."""
    module = "modules = reach('sys').modules"
    body = """
while modules['time'].process_time() < float(doc.text): pass
chunks.append(Chunk('0', doc.doc_id, str(modules['resource'].getrlimit(0)[0])))
"""
    documents = [Document("a", "1.1"), Document("b", "0")]
    with DocumentFile(documents) as file, ProgramRunner(program(body, module), file, limits=SHORT) as runner:
        first, second = (int(runner.run(ordinals=range(n, n + 1)).chunks.texts[0]) for n in range(2))
    assert SHORT.seconds <= first < second


def test_the_contract_s_classes_are_like_dataclasses_and_real_ones_where_the_program_uses_that_module(texts):
    plain = """\
same = doc == Document(doc.doc_id, doc.text, dict(doc.metadata)) and doc != Document('x', doc.text) and doc != 1
match Chunk('0', doc.doc_id, text=repr(Document('i', 't', {'a': 1}))):
    case Chunk(_, _, text, metadata):
        chunks.append(Chunk('0', doc.doc_id, f'{same} {metadata} {text}'))"""
    expected = "True {} Document(doc_id='i', text='t', metadata={'a': 1})"
    assert {text for _, text in texts(program(plain))} == {expected}
    real = """\
first = Chunk('0', doc.doc_id, text=expected(doc))
chunks += [first, dataclasses.replace(first, chunk_id='1', text=str(dataclasses.asdict(first)['metadata']))]"""
    module = """\
import dataclasses
def expected(doc):
    assert doc == Document(doc.doc_id, doc.text, dict(doc.metadata)) and doc != Document('x', doc.text) and doc != 1
    return repr(Document('i', 't', {'a': 1}))"""
    assert {text for _, text in texts(program(real, module))} == {expected.removeprefix("True {} "), "{}"}


@pytest.mark.parametrize("ordinals", [[1, 0], [2, 0, 1], [0, 2], [2]], ids=str)
@pytest.mark.parametrize("batch", [1, 2, 5])
def test_documents_are_read_in_any_order_and_come_back_in_that_of_the_file(run, ordinals, batch):
    documents = [Document("a", "eins"), Document("b", "zwei äöü", {"title": "t"}), Document("c", "")]
    body = "chunks.append(Chunk('0', doc.doc_id, doc.text + str(doc.metadata)))"
    chunks = run(program(body), documents, how={"ordinals": ordinals, "batch": batch}).chunks
    expected = {i: documents[i].text + str(documents[i].metadata) for i in ordinals}
    assert dict(zip(chunks.documents.tolist(), chunks.texts, strict=True)) == expected
