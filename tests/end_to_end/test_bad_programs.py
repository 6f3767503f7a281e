"""A program that misbehaves ends with exit code 1 and a sentence that names the document; nothing is left behind."""

import json

import pytest

PROGRAM = """
import sys
from autoindex_haystack.program import BasePreprocessor, Chunk

class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        chunks = []
        for doc in docs:
            {body}
        return chunks
"""

GOOD = "chunks.append(Chunk('0', doc.doc_id, doc.metadata.get('title', '') + doc.text))"
BAD = {
    "raises": ("raise ValueError('no such luck')", "raised ValueError at document 0001"),
    "returns None": ("return None", "returned None from preprocess"),
    "returns a foreign doc_id": ("chunks.append(Chunk('0', 'x', 'text'))", "foreign doc_id"),
    "repeats a chunk_id": (f"{GOOD}; {GOOD}", "the same chunk_id twice"),
    "returns a non-string": ("chunks.append(Chunk('0', doc.doc_id, 42))", "text is a int"),
    "calls sys.exit": ("sys.exit(0)", "called sys.exit"),
    "returns another thing than chunks": ("chunks.append('text')", "returned a str where a Chunk is needed"),
    "returns nothing for most documents": ("pass", "--max-unreachable"),
}


def _program(folder, body):
    path = folder / "program.py"
    path.write_text(PROGRAM.format(body=body))
    return path


@pytest.mark.parametrize(("body", "message"), BAD.values(), ids=BAD)
def test_a_misbehaving_program_is_named_with_its_document(body, message, kitchen, out, tmp_path, autoindex, here):
    program = _program(tmp_path, body)
    for run, *arguments in (
        (autoindex, "evaluate", kitchen, "--run-file", out / "run.trec"),
        (here, "index", kitchen, "--out", out / "index"),
        (here, "crosscheck", kitchen),
    ):
        done = run(*arguments, "--program", program, "--json")
        done.failed(1, message, "document 0001" if body != "pass" else "0001")
        assert list(out.iterdir()) == []


def test_the_program_s_own_traceback_follows_the_sentence(kitchen, tmp_path, autoindex):
    program = _program(tmp_path, "raise ValueError('no such luck')")
    done = autoindex("evaluate", kitchen, "--program", program)
    assert "raise ValueError('no such luck')" in done.err
    assert "ValueError: no such luck" in done.err
    assert "autoindex_haystack" not in done.err


def test_a_program_that_loops_for_ever_is_stopped(kitchen, out, tmp_path, autoindex):
    program = _program(tmp_path, "while True: pass")
    for arguments in (("evaluate", kitchen), ("index", kitchen, "--out", out / "index")):
        done = autoindex(*arguments, "--program", program, "--timeout", 2)
        done.failed(1, "longer than 2 seconds at document 0001")
    assert list(out.iterdir()) == []


def test_a_program_that_loops_while_it_calibrates_is_stopped(kitchen, out, tmp_path, autoindex):
    program = _program(tmp_path, GOOD)
    program.write_text(program.read_text() + "\n    def calibrate(self, docs):\n        while True: pass\n")
    autoindex("index", kitchen, "--out", out / "index", "--program", program, "--timeout", 2).failed(
        1, "longer than 2 seconds"
    )
    assert list(out.iterdir()) == []


def test_a_program_that_prints_a_lot_works(kitchen, out, tmp_path, autoindex):
    program = _program(tmp_path, f"print('x' * 500_000); {GOOD}")
    done = autoindex("evaluate", kitchen, "--program", program, "--json").succeeded()
    assert json.loads(done.out)["chunks"] == 40
    assert len(done.err) < 10_000


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("class Preprocessor(", "line 1: syntax error"),
        ("import os\nclass Preprocessor(BasePreprocessor):\n    def preprocess(self, docs): ...", "--allow-import os"),
        ("x = 1", "there is no class Preprocessor"),
        (
            "raise RuntimeError\nclass Preprocessor(BasePreprocessor):\n    def preprocess(self, docs): ...",
            "RuntimeError",
        ),
    ],
    ids=["syntax error", "import", "no class", "raises when loaded"],
)
def test_a_program_that_cannot_be_loaded_is_refused(source, message, kitchen, out, tmp_path, here):
    program = tmp_path / "program.py"
    program.write_text(source)
    here("evaluate", kitchen, "--program", program).failed(1, message)
    here("index", kitchen, "--program", program, "--out", out / "index").failed(1, message)
    assert list(out.iterdir()) == []


def test_a_program_that_does_not_exist_is_wrong_use(kitchen, here):
    here("evaluate", kitchen, "--program", "nowhere.py").failed(2, "--program", "nowhere.py")
    here("evaluate", kitchen, "--program", "builtin:nothing").failed(2, "builtin:full_document")


def test_control_characters_of_a_program_do_not_reach_the_terminal(kitchen, tmp_path, autoindex):
    program = _program(tmp_path, r"raise ValueError('\x1b[2J\x07gone')")
    done = autoindex("evaluate", kitchen, "--program", program)
    assert done.code == 1
    assert "\x1b" not in done.err
    assert "\x07" not in done.err


def test_evaluate_states_the_layers_in_force_and_warns_once_when_they_are_weaker(kitchen, autoindex):
    full = autoindex("evaluate", kitchen, "--json").succeeded()
    assert {"no capabilities", "no new privileges", "self-test"} < set(json.loads(full.out)["isolation"])
    assert "isolation" not in full.err
    weaker = autoindex("evaluate", kitchen, "--sandbox", "process-only", "--json").succeeded()
    layers = json.loads(weaker.out)["isolation"]
    assert "fresh interpreter" in layers
    assert not any("seccomp" in layer or "self-test" in layer for layer in layers)
    assert weaker.err.count("programs run without the kernel's isolation") == 1
