"""The static check: early, friendly errors with their line; it reads a program and never runs it."""

import gc
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import autoindex_haystack
from autoindex_haystack.errors import ProgramError
from autoindex_haystack.program import (
    ALLOWED_MODULES,
    BUILTIN_NAMES,
    BasePreprocessor,
    Chunk,
    Document,
    Program,
    builtin_program,
    check_source,
    read_program,
)
from autoindex_haystack.program.source import parse

GOOD = """\
from autoindex_haystack.program import BasePreprocessor, Chunk

class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        return [Chunk("0", doc.doc_id, doc.text) for doc in docs]
"""


def problems(source: str, allowed: tuple[str, ...] = ()) -> list[str]:
    return [str(problem) for problem in check_source(source, allowed)]


@pytest.mark.parametrize(
    "source",
    [
        GOOD,
        GOOD.replace("BasePreprocessor)", "base.BasePreprocessor)"),
        GOOD.replace("    def preprocess(self, docs):\n        return", "    preprocess = lambda self, docs:"),
        "class Preprocessor(Other): ...",
        "import sys, pathlib\nfrom schema import Document\nfrom base import BasePreprocessor\n" + GOOD,
        "".join(f"import {name}\n" for name in sorted(ALLOWED_MODULES - {"__future__"})) + GOOD,
    ],
)
def test_a_good_program_has_no_problems(source):
    assert problems(source) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = (\n", "line 1: syntax error: '(' was never closed"),
        ("x = 1\n  y = 2\n", "line 2: syntax error: unexpected indent"),
        ("x = '\0'", "null bytes"),
        ("x = '\ud800'", "surrogates not allowed"),
        ("", "import BasePreprocessor, Chunk` and define class Preprocessor(BasePreprocessor)"),
        ("def Preprocessor(): ...", "there is no class Preprocessor"),
        ("\nclass Preprocessor:\n    def preprocess(self, docs): ...", "line 2: class Preprocessor must derive from"),
        (
            "class Preprocessor(BasePreprocessor):\n    name = 'x'",
            "line 1: class Preprocessor has no method preprocess",
        ),
        ("x = 1\n" * 300_000, "the source is longer than 1,000,000 bytes; learn tables in calibrate instead"),
    ],
)
def test_a_program_that_is_none_is_told_why(source, expected):
    [problem] = problems(source)
    assert expected in problem


def test_every_import_outside_the_list_is_named_with_its_line():
    source = (
        "import re, os.path\n"
        "def f():\n"
        "    from subprocess import run\n"
        "from . import other\n"
        "import xml.dom.minidom\n"
        "import collections.abc\n" + GOOD
    )
    assert problems(source) == [
        "line 1: import of 'os.path' is not allowed; allow it with --allow-import os",
        "line 3: import of 'subprocess' is not allowed; allow it with --allow-import subprocess",
        "line 4: relative imports are not allowed; a program is one file",
        "line 5: import of 'xml.dom.minidom' is not allowed; allow it with --allow-import xml",
    ]


def test_an_allowed_name_admits_its_submodules_and_no_name_that_only_begins_like_it():
    source = "import nltk, nltk.stem.porter\n" + GOOD
    assert problems(source, ("nltk",)) == []
    assert len(problems(source, ("nltk.stem",))) == 1
    assert len(problems("import nltk2\n" + GOOD, ("nltk",))) == 1


@given(st.text())
def test_any_text_can_be_checked(source):
    assert all(isinstance(problem, str) for problem in problems(source))


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 5_000 + ")" * 5_000,
        "-" * 20_000 + "1",
        "a" + ".b" * 20_000,
        "x[" * 3_000 + "]" * 3_000,
        "1" + "+1" * 50_000,
    ],
    ids=["parentheses", "signs", "attributes", "brackets", "sums"],
)
def test_a_deeply_nested_program_is_no_danger_to_the_check(expression):
    assert isinstance(problems(f"class Preprocessor({expression}): ..."), list)


def test_the_check_says_nothing_on_stderr_and_runs_nothing(capfd):
    source = "print('hello')\nraise SystemExit\n" + GOOD.replace("doc.text", r"re.sub('\d', '', doc.text)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert problems(source) == []
    assert capfd.readouterr() == ("", "")
    assert "candidate" not in sys.modules


def test_checking_a_program_raises_the_first_problem_and_counts_the_others():
    Program(GOOD).check()
    with pytest.raises(ProgramError, match=r"^mine\.py, line 1: import of 'os' is not allowed.* \(and 2 more\)$"):
        Program("import os\nimport sys, subprocess, socket\n" + GOOD, "mine.py").check()


def test_a_program_s_hash_is_that_of_its_bytes():
    assert Program("x").sha256 == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    assert Program("x").sha256 != Program("x ").sha256


def test_a_program_file_is_read_as_utf_8(tmp_path):
    path = tmp_path / "mine.py"
    path.write_bytes(b"\xef\xbb\xbf" + "x = 'é'\n".encode())
    assert read_program(path) == Program("x = 'é'\n", "mine.py")
    path.write_bytes("x = 'é'\n".encode("latin-1"))
    with pytest.raises(ProgramError, match=r"mine\.py cannot be read as a program .*; give a UTF-8 Python file"):
        read_program(path)
    with pytest.raises(ProgramError, match="cannot be read as a program"):
        read_program(tmp_path / "nothing.py")


@pytest.mark.parametrize("name", BUILTIN_NAMES)
def test_builtin_programs_pass_their_own_check(name):
    program = builtin_program(name)
    program.check()
    assert program.name == f"builtin:{name}"


def test_an_unknown_builtin_program_is_refused():
    with pytest.raises(ProgramError, match="no built-in program 'nothing'; there are full_document, passages"):
        builtin_program("nothing")


def test_the_contract_can_be_used_outside_the_sandbox_for_tests_of_programs():
    base = BasePreprocessor()
    assert base.state == {}
    assert base.calibrate([]) == {}
    with pytest.raises(NotImplementedError):
        base.preprocess([Document("1", "x")])
    assert Chunk("c", "1", "x").metadata == {}


def test_sources_are_parsed_in_several_threads_at_once():
    """A finalizer lets another thread in while a tree is made, as may happen at any time."""

    class Cycle:
        def __init__(self):
            self.itself = self

        def __del__(self):
            sum(range(50))

    def parse_all(source):
        for _ in range(200):
            Cycle(), Cycle(), Cycle()
            assert len(parse(source).body) == 1

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(10)
    try:
        with ThreadPoolExecutor(6) as pool:
            sources = ["x = " + " + ".join(f"f({i})" for i in range(200)), f"y = {'(' * 40}1{')' * 40}"]
            list(pool.map(parse_all, sources * 3))
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)


def test_nothing_else_parses():
    folders = ("proposers", "optimizer", "evaluation", "frozen", "program", "runs", "report", "sandbox")
    files = [path for folder in folders for path in (Path(autoindex_haystack.__file__).parent / folder).rglob("*.py")]
    found = [path.name for path in files if "ast.parse(" in path.read_text(encoding="utf-8")]
    assert found == ["source.py"]
