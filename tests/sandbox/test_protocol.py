"""A worker that was taken over: whatever it writes in the place of results, only what keeps the rules is taken."""

import json
import struct

import pytest

from autoindex_haystack.errors import AutoIndexError, ProgramError, SandboxError
from autoindex_haystack.program import Document
from autoindex_haystack.sandbox import DocumentFile, Limits, ProgramRunner, process
from autoindex_haystack.sandbox.worker import protocol

from .conftest import DOCUMENTS, SHORT, program

RESULTS = 5
"""The descriptor of a worker's results, as a program finds it."""

LIMITS = Limits(seconds=10, document_seconds=10, floor=100, chunks=10)


def frame(kind: bytes, payload: bytes, length: int | None = None) -> bytes:
    return protocol.FRAME.pack(kind, len(payload) if length is None else length) + payload


def block(counts: list[int], texts: list[bytes], metas: list[bytes] | None = None, **changed: object) -> bytes:
    """A block's payload; `documents`, `chunks`, `lengths`, `tail` replace what is right."""
    metas = metas if metas is not None else [b""] * len(texts)
    lengths = changed.get("lengths", [*map(len, texts), *map(len, metas)])
    numbers = struct.pack(f"<{len(counts) + len(lengths)}I", *counts, *lengths)
    head = protocol.BLOCK_HEAD.pack(changed.get("documents", len(counts)), changed.get("chunks", len(texts)))
    return head + numbers + b"".join([*texts, *metas]) + changed.get("tail", b"")


def writing(data: bytes, then: str = "reach('_exit')(0)") -> str:
    return f"reach('write')({RESULTS}, {data!r}); {then}"


HONEST = block([1, 0, 2], [b"one", b"two", b"\xc3\xbc"])


def test_the_forger_knows_the_protocol(texts):
    """Otherwise the other tests here would refuse frames for the wrong reason."""
    assert texts(program(writing(frame(protocol.BLOCK, HONEST)))) == [
        ("first", "one"),
        ("third", "two"),
        ("third", "ü"),
    ]


FORGED = {
    "garbage": b"garbage that is no frame at all",
    "an unknown kind": frame(b"X", b""),
    "the wrong kind": frame(protocol.STATE, b"{}"),
    "another answer to start": frame(protocol.READY, b"{}"),
    "an endless frame": frame(protocol.BLOCK, b"", length=1 << 63),
    "a frame that is a little too large": frame(protocol.BLOCK, b"", length=2_000_000),
    "nothing in a block": frame(protocol.BLOCK, b""),
    "half a head": frame(protocol.BLOCK, HONEST[:9]),
    "a head alone": frame(protocol.BLOCK, HONEST[:16]),
    "cut off texts": frame(protocol.BLOCK, HONEST[:-1]),
    "more than was said": frame(protocol.BLOCK, HONEST + b"x"),
    "one count for all documents": frame(protocol.BLOCK, block([3], [b"a", b"b", b"c"])),
    "too few documents": frame(protocol.BLOCK, block([1, 2], [b"a", b"b", b"c"])),
    "too many documents": frame(protocol.BLOCK, block([1, 0, 1, 1], [b"a", b"b", b"c"])),
    "documents that are not there": frame(protocol.BLOCK, block([1, 0, 2], [b"a", b"b", b"c"], documents=1 << 40)),
    "chunks that are not there": frame(protocol.BLOCK, block([1, 0, 2], [b"a", b"b", b"c"], chunks=1 << 60)),
    "counts that do not add up": frame(protocol.BLOCK, block([1, 0, 1], [b"a", b"b", b"c"])),
    "counts that wrap around": frame(protocol.BLOCK, block([1, 0xFFFFFFFF, 3], [b"a", b"b", b"c"])),
    "lengths that wrap around": frame(protocol.BLOCK, block([1, 0, 0], [b"abc"], lengths=[0xFFFFFFFF, 4])),
    "lengths of other texts": frame(protocol.BLOCK, block([1, 0, 1], [b"abc", b""], lengths=[9, 0, 0, 0])),
    "too many chunks of a document": frame(protocol.BLOCK, block([11, 0, 0], [b"a"] * 11)),
    "too much text of a document": frame(protocol.BLOCK, block([1, 0, 0], [b"a" * 151])),
    "text that is no UTF-8": frame(protocol.BLOCK, block([1, 0, 0], [b"\xff"])),
    "half a surrogate pair in bytes": frame(protocol.BLOCK, block([1, 0, 0], [b"\xed\xa0\x80"])),
    "characters cut between texts": frame(protocol.BLOCK, block([2, 0, 0], [b"\xc3", b"\xbc"])),
    "metadata that is no JSON": frame(protocol.BLOCK, block([1, 0, 0], [b""], [b"{"])),
    "metadata that is no object": frame(protocol.BLOCK, block([1, 0, 0], [b""], [b"[1]"])),
    "metadata that is null": frame(protocol.BLOCK, block([1, 0, 0], [b""], [b"null"])),
    "metadata with a NaN": frame(protocol.BLOCK, block([1, 0, 0], [b""], [b'{"x": NaN}'])),
    "metadata with half a pair": frame(protocol.BLOCK, block([1, 0, 0], [b""], [b'{"x": "\\ud800"}'])),
    "metadata nested too deeply": frame(protocol.BLOCK, block([1, 0, 0], [b""], [b'{"x":' * 5_000])),
    "two blocks for one": frame(protocol.BLOCK, HONEST) * 2,
}


@pytest.mark.parametrize("data", FORGED.values(), ids=FORGED)
@pytest.mark.parametrize("then", ["reach('_exit')(0)", "reach('sys').modules['time'].sleep(60)"], ids=["ends", "waits"])
def test_a_forged_result_is_refused(run, data, then):
    with pytest.raises(SandboxError, match=r"the worker sent a result that breaks the protocol; the program cannot be"):
        run(program(writing(data, then)), limits=LIMITS, how={"metadata": True})


def test_a_frame_that_is_cut_off_is_a_worker_that_is_gone(run):
    with pytest.raises(ProgramError, match="the program's worker ended with code 0 at document first"):
        run(program(writing(frame(protocol.BLOCK, HONEST)[:-3])))


def test_a_frame_that_never_ends_runs_into_the_time_limit(run):
    with pytest.raises(ProgramError, match=r"longer than 0\.5 seconds at document first"):
        run(
            program(writing(frame(protocol.BLOCK, HONEST)[:-3], "\nwhile True: pass")),
            limits=Limits(document_seconds=0.5, seconds=20),
        )


def test_a_flood_of_results_is_refused_at_once(run):
    flood = "while True: reach('write')(5, b'x' * 65_536)"
    with pytest.raises(SandboxError, match="breaks the protocol"):
        run(program(flood))


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"[]", b'"x"', b'{"message": 1}', b'{"message": "x"}', b"[" * 100_000, b"\xff\xfe"],
)
def test_a_report_that_is_none_is_a_failure_all_the_same(run, payload):
    with pytest.raises(ProgramError, match="the program failed in an unknown way at document first"):
        run(program(writing(frame(protocol.FAILED, payload))))


def test_a_report_is_shown_as_text_only(run):
    report = json.dumps({"message": "says\x1b[2J " + "x" * 5_000, "traceback": "y" * 90_000}).encode()
    with pytest.raises(ProgramError) as caught:
        run(program(writing(frame(protocol.FAILED, report))))
    assert str(caught.value).startswith("the program says\ufffd[2J xxx")
    assert len(str(caught.value)) < 23_000


@pytest.mark.parametrize(
    "data",
    [
        b"garbage that is no frame",
        frame(protocol.READY, b"{"),
        frame(protocol.READY, b"[1]"),
        frame(protocol.READY, b'{"calibrates": NaN}'),
        frame(protocol.BLOCK, HONEST),
        frame(protocol.READY, b" " * 1_100_000),
        frame(protocol.READY, b"{}", length=1 << 40),
    ],
)
def test_a_forged_answer_to_the_start_is_refused(run, data):
    with pytest.raises(SandboxError, match="breaks the protocol"):
        run(program(module=f"data = {data!r}\nwhile data: data = data[reach('write')(5, data):]\nreach('_exit')(0)"))


@pytest.mark.parametrize(
    "data",
    [
        frame(protocol.STATE, b"{"),
        frame(protocol.STATE, b"[1]"),
        frame(protocol.STATE, b'{"x": NaN}'),
        frame(protocol.STATE, b'{"x": "\\udfff"}'),
        frame(protocol.STATE, b'{"x":' * 50_000),
        frame(protocol.STATE, b'{"x": "' + b"y" * 1_000 + b'"}'),
        frame(protocol.READY, b"{}"),
    ],
)
def test_a_forged_state_is_refused(run, data):
    members = f"def calibrate(self, docs):\n    reach('write')(5, {data!r}); reach('_exit')(0)"
    with pytest.raises(SandboxError, match="breaks the protocol"):
        run(program(members=members), calibrate=True, limits=Limits(seconds=10, state_bytes=1_000))


def test_a_state_of_another_place_does_not_get_in(run):
    """An answer that was written ahead of its question is taken for that to the question before."""
    ahead = program(module=f"reach('write')(5, {frame(protocol.READY, b'{}') + frame(protocol.BLOCK, HONEST)!r})")
    with pytest.raises(SandboxError, match="breaks the protocol"):
        run(ahead)


def test_a_worker_that_takes_no_commands_cannot_hold_the_host(monkeypatch):
    """It said that it was ready and then never read again; the sample's ordinals do not fit into the pipe."""
    monkeypatch.setattr(process, "_SEND_SECONDS", 0.5)
    module = (
        f"reach('write')(5, {frame(protocol.READY, json.dumps({'calibrates': True}).encode())!r})\nwhile True: pass"
    )
    documents = [Document(str(i), "") for i in range(30_000)]
    with (
        DocumentFile(documents) as file,
        ProgramRunner(program(module=module), file, limits=SHORT) as runner,
        pytest.raises(SandboxError, match="the worker takes no more commands"),
    ):
        runner.calibrate()


def test_a_worker_that_claims_to_be_at_a_document_that_is_not_there_names_none(run):
    forged = "page = reach('sys').modules['mmap'].mmap(4, 4096); page[:8] = b'\\xff' * 8; 1 / 0"
    with pytest.raises(ProgramError) as caught:
        run(program(forged), isolation="process-only")
    assert str(caught.value).startswith("the program raised ZeroDivisionError\n")
    assert caught.value.document_id is None


def test_no_worker_can_be_started_without_an_interpreter(run, monkeypatch):
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(SandboxError, match="no worker can be started from /nowhere/python"):
        run(program())
    monkeypatch.setattr("sys.executable", "")
    with pytest.raises(SandboxError, match="does not know its Python interpreter"):
        run(program())


def test_an_interpreter_that_is_none_is_a_worker_that_is_gone(run, monkeypatch):
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(AutoIndexError, match="the program's worker ended with code 1"):
        run(program())


def test_the_host_takes_over_documents_in_the_order_of_the_file_whatever_the_worker_says(texts):
    """Which chunk belongs to which document follows from the counts; there are no ids that could be forged."""
    assert texts(program(writing(frame(protocol.BLOCK, block([0, 3, 0], [b"a", b"b", b"c"]))))) == [
        ("second", "a"),
        ("second", "b"),
        ("second", "c"),
    ]


def test_the_documents_of_the_tests_are_small_enough_for_their_limits():
    assert all(len(document.text) + 20 < LIMITS.floor for document in DOCUMENTS)
