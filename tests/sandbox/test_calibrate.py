"""``calibrate``: once, isolated, over a seeded sample in fixed order; its result is JSON that ``preprocess`` sees."""

import json

import pytest

from autoindex_haystack.errors import ProgramError
from autoindex_haystack.program import Document, Program
from autoindex_haystack.sandbox import DocumentFile, Limits, ProgramRunner

from .conftest import DOCUMENTS, SHORT, program

SHOW = "chunks.append(Chunk('0', doc.doc_id, repr(self.state)))"


def calibrating(body: str, module: str = "") -> Program:
    return program(
        SHOW,
        module=module,
        members="def calibrate(self, docs):\n" + "\n".join(f"    {line}" for line in body.splitlines()),
    )


def calibrate(what: Program, documents=DOCUMENTS, **options):
    with DocumentFile(documents) as file, ProgramRunner(what, file, **({"limits": SHORT} | options)) as runner:
        return runner.calibrate()


def test_what_calibrate_learns_reaches_preprocess_in_every_worker(texts):
    counting = calibrating("return {'documents': len([d for d in docs]), 'words': sorted({d.text for d in docs})}")
    documents = [Document(str(i), f"{i % 2}") for i in range(1_200)]
    with DocumentFile(documents) as file, ProgramRunner(counting, file, workers=2, limits=SHORT) as runner:
        state = runner.calibrate()
        seen = set(runner.run().chunks.texts)
    assert state == {"documents": 1_200, "words": ["0", "1"]}
    assert seen == {repr(state)}


def test_the_state_is_what_json_makes_of_it(texts):
    learned = calibrating("return {9: (2, 3), 10: 0, 'ü': None, 'n': {'x': 1.5}}")
    assert calibrate(learned) == {"9": [2, 3], "10": 0, "ü": None, "n": {"x": 1.5}}
    [(_, seen), *_] = texts(learned, calibrate=True)
    assert seen == repr({"10": 0, "9": [2, 3], "n": {"x": 1.5}, "ü": None})


def test_a_program_that_does_not_calibrate_has_an_empty_state(texts, workers):
    assert calibrate(program()) == {}
    assert {text for _, text in texts(program(SHOW), calibrate=True)} == {"{}"}


def test_a_state_that_was_learned_before_is_used_as_it_is(texts):
    assert {text for _, text in texts(program(SHOW), state={"a": ["ü", 1]})} == {repr({"a": ["ü", 1]})}


def test_nothing_that_calibrate_did_besides_is_left_in_the_worker(texts):
    members = "def calibrate(self, docs):\n    self.left = SEEN.append(1)\n    return {'n': len(SEEN)}"
    leaving = program(
        "chunks.append(Chunk('0', doc.doc_id, repr((self.state, SEEN, vars(self)))))", "SEEN = []", members
    )
    assert {text for _, text in texts(leaving, calibrate=True)} == {repr(({"n": 1}, [], {"state": {"n": 1}}))}


def test_the_documents_may_be_read_more_than_once_and_not_to_the_end():
    body = """
first = [d.doc_id for d in docs]
for d in docs: break
return {'n': len(docs), 'same': [d.doc_id for d in docs] == first}
"""
    assert calibrate(calibrating(body)) == {"n": 3, "same": True}


def test_a_large_corpus_is_sampled_by_a_fixed_seed_within_the_limits_in_corpus_order():
    documents = [Document(str(i), f"{i:04}") for i in range(1_000)]
    body = "return {'seen': [d.text for d in docs]}"
    few = calibrate(calibrating(body), documents, limits=Limits(sample_documents=50))["seen"]
    assert len(few) == 50
    assert few == sorted(few)
    assert int(few[-1]) > 800
    assert few == calibrate(calibrating(body), documents, limits=Limits(sample_documents=50), hash_seed=1)["seen"]
    small = calibrate(calibrating(body), documents, limits=Limits(sample_bytes=200))["seen"]
    assert len(small) == 50
    assert len(calibrate(calibrating(body), documents)["seen"]) == 1_000


def test_random_and_the_order_of_documents_are_the_same_every_time():
    body = "return {'random': random.random(), 'order': [d.text for d in docs]}"
    assert calibrate(calibrating(body)) == calibrate(calibrating(body))
    assert calibrate(calibrating(body))["order"] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("None", "the program returned None from calibrate; return a dict"),
        ("[1]", "the program returned a list from calibrate"),
        ("{'x': {1}}", "the program returned a state that is no JSON from calibrate"),
        ("{'x': float('nan')}", "the program returned a state that is no JSON from calibrate"),
        ("{'x': float('-inf')}", "the program returned a state that is no JSON from calibrate"),
        ("{(1, 2): 1}", "the program returned a state that is no JSON from calibrate"),
        ("{'x': '\\ud800'}", "the program returned a state that is no JSON from calibrate"),
        ("{'x': LOOP}", "the program returned a state that is no JSON from calibrate"),
        ("{'x': 'ü' * (8 << 20)}", "the program returned a state of 16,777,225 bytes; at most 16,777,216 are allowed"),
        ("{'x': DEEP}", "the program raised RecursionError"),
        ("sys.exit()", "the program called sys.exit"),
        ("bytearray(1 << 40)", "the program needs more memory than it is allowed"),
    ],
)
def test_a_state_that_is_none_is_refused(result, message):
    module = "LOOP = []\nLOOP.append(LOOP)\nDEEP = []\nfor _ in range(100_000): DEEP = [DEEP]"
    with pytest.raises(ProgramError) as caught:
        calibrate(calibrating(f"return {result}", module))
    assert message in str(caught.value)
    assert caught.value.document_id is None


def test_a_state_of_16_mb_is_fine_and_reaches_the_worker(run):
    state = calibrate(calibrating("return {'x': 'y' * ((16 << 20) - 10)}"))
    assert len(json.dumps(state)) <= 16 << 20
    sized = program("chunks.append(Chunk('0', doc.doc_id, str(len(self.state['x']))))")
    assert run(sized, state=state).chunks.texts == [str((16 << 20) - 10)] * 3


def test_an_exception_names_the_document_that_was_read_and_shows_the_traceback():
    with pytest.raises(ProgramError, match="the program raised KeyError at document second\n") as caught:
        calibrate(calibrating("for d in docs:\n    if d.text == 'two': {}[d.text]"))
    assert "if d.text == 'two': {}[d.text]" in str(caught.value)
    with pytest.raises(ProgramError, match="the program raised KeyError\n"):
        calibrate(calibrating("for d in docs: pass\n{}['x']"))


def test_a_worker_that_is_gone_is_told():
    with pytest.raises(ProgramError, match="the program's worker ended with code 3 at document first"):
        calibrate(calibrating("for d in docs: reach('_exit')(3)"))


def test_calibrating_has_the_time_of_a_whole_corpus_and_no_more():
    """Thinking long after the last document, or at one of them, is no fault of that document."""
    slow = """
clock = reach('sys').modules['time'].time
began = clock()
for d in docs:
    while clock() - began < 0.6: pass
return {'x': 1}
"""
    assert calibrate(calibrating(slow), limits=Limits(seconds=20, document_seconds=0.2)) == {"x": 1}
    with pytest.raises(ProgramError, match=r"the program ran longer than 0\.5 seconds; it was stopped"):
        calibrate(calibrating("list(docs)\nwhile True: pass"), limits=Limits(seconds=0.5))


def test_workers_can_be_used_again_after_calibrating_failed(workers):
    failing = calibrating("raise ValueError")
    with DocumentFile(DOCUMENTS) as file, ProgramRunner(failing, file, limits=SHORT) as runner:
        with pytest.raises(ProgramError):
            runner.calibrate()
        assert runner.run().chunks.texts == ["{}"] * 3
