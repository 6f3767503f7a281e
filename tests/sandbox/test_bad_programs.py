"""Programs that break the contract: an error that names the document and shows the program's own traceback."""

import pytest

from autoindex_haystack.errors import ProgramError
from autoindex_haystack.program import Document, Program
from autoindex_haystack.sandbox import Limits

from .conftest import DOCUMENTS, program

AT_SECOND = "chunks.append(Chunk('0', doc.doc_id, doc.text))\nif doc.text == 'two': "


def at_second(statement: str, **parts: str) -> Program:
    """A program that does this at the second document, after it has made a chunk of it."""
    return program(AT_SECOND + statement, **parts)


REJECTED = {
    "returns None": ("return None", "returned None from preprocess; return a list of Chunk"),
    "returns a tuple": ("return tuple(chunks)", "returned a tuple from preprocess"),
    "returns a generator": ("return (c for c in chunks)", "returned a generator from preprocess"),
    "returns texts": ("return ['text']", "returned a str where a Chunk is needed"),
    "returns None among chunks": ("return [None]", "returned None where a Chunk is needed"),
    "returns documents": ("return docs", "returned a Document where a Chunk is needed"),
    "returns a foreign doc_id": ("chunks[0].doc_id = 'x'", "returned a chunk with a foreign doc_id"),
    "returns a doc_id of a subclass": ("chunks[0].doc_id = Text(doc.doc_id)", "returned a chunk with a foreign doc_id"),
    "changes the document's id": ("chunks[0].doc_id = doc.doc_id = 'x'", "returned a chunk with a foreign doc_id"),
    "repeats a chunk_id": ("chunks *= 2", "returned the same chunk_id twice for one document"),
    "gives a number as chunk_id": ("chunks[0].chunk_id = 0", "returned a chunk whose chunk_id is a int"),
    "gives a number as text": ("chunks[0].text = 1", "returned a chunk whose text is a int; it must be a str"),
    "gives bytes as text": ("chunks[0].text = b'x'", "returned a chunk whose text is a bytes"),
    "gives None as text": ("chunks[0].text = None", "returned a chunk whose text is None"),
    "gives a subclass of str as text": ("chunks[0].text = Text('x')", "returned a chunk whose text is a Text"),
    "gives half a surrogate pair": ("chunks[0].text = 'x\\ud800'", "half a surrogate pair, which is no Unicode"),
    "gives a list as metadata": ("chunks[0].metadata = ['x']", "returned chunk metadata that is a list"),
    "gives a set in metadata": ("chunks[0].metadata = {'x': {1}}", "returned chunk metadata that is no JSON"),
    "gives a NaN in metadata": ("chunks[0].metadata = {'x': float('nan')}", "returned chunk metadata that is no JSON"),
    "gives half a pair in metadata": (
        "chunks[0].metadata = {'x': '\\udfff'}",
        "returned chunk metadata that is no JSON",
    ),
}


@pytest.mark.parametrize(("statement", "message"), REJECTED.values(), ids=REJECTED)
def test_a_program_that_breaks_the_contract_is_told_how_and_where(run, statement, message):
    with pytest.raises(ProgramError) as caught:
        run(at_second(statement, module="class Text(str): pass"), how={"metadata": True})
    assert message in str(caught.value)
    assert str(caught.value).endswith("at document second")
    assert caught.value.document_id == "second"
    assert caught.value.program_traceback == ""


def test_an_exception_comes_with_the_program_s_own_traceback(run):
    with pytest.raises(ProgramError) as caught:
        run(at_second("helper(doc)", module="def helper(doc):\n    return {}[doc.text]"))
    message, _, trace = str(caught.value).partition("\n")
    assert message == "the program raised KeyError at document second"
    assert trace.splitlines()[0] == "Traceback of the program:"
    assert [line.strip() for line in trace.splitlines() if "File" not in line][1:] == [
        "if doc.text == 'two': helper(doc)",
        "return {}[doc.text]",
        "KeyError: 'two'",
    ]
    assert "autoindex_haystack" not in trace
    assert "serve.py" not in trace


@pytest.mark.parametrize("leave", ["sys.exit()", "sys.exit(0)", "raise SystemExit('bye')", "sys.exit('bye')"])
def test_sys_exit_is_an_error_like_another(run, leave):
    with pytest.raises(ProgramError, match=r"the program called sys\.exit; .* at document second"):
        run(at_second(leave))


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "GeneratorExit", "BaseException", "Strange"])
def test_no_exception_gets_past_the_worker(run, error):
    strange = "class Strange(BaseException):\n    def __str__(self): raise Strange"
    with pytest.raises(ProgramError, match=f"the program raised {error} at document second"):
        run(at_second(f"raise {error}", module=strange))


def test_deep_recursion_is_an_error_like_another(run):
    with pytest.raises(ProgramError, match="the program raised RecursionError at document second") as caught:
        run(at_second("f(0)", module="def f(n):\n    return f(n + 1)"))
    assert caught.value.program_traceback.count("return f(n + 1)") <= 20


@pytest.mark.parametrize("hog", ["bytearray(1 << 40)", "while True: kept.append(' ' * (1 << 20))"])
def test_a_program_that_wants_too_much_memory_is_stopped(run, hog):
    with pytest.raises(ProgramError, match="the program needs more memory than it is allowed at document second"):
        run(at_second("\n    kept = []\n    " + hog))


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [
        (Limits(document_seconds=0.6, seconds=20), "0.6 seconds at document second"),
        (Limits(seconds=2), "2 seconds at document second"),
    ],
)
@pytest.mark.parametrize("loop", ["\n    while True: pass", "re.match(r'(a+)+b', 'a' * 60)"], ids=["loop", "in C"])
def test_a_program_that_loops_for_ever_is_killed_and_named(run, limits, seconds, loop):
    with pytest.raises(ProgramError, match=f"the program ran longer than {seconds}; it was stopped"):
        run(at_second(loop), limits=limits)


def test_a_program_that_is_slow_at_every_document_is_stopped_by_the_limit_of_the_whole(run):
    slow = program(
        "began = clock()\nwhile clock() - began < 0.05: pass", module="clock = reach('sys').modules['time'].time"
    )
    with pytest.raises(ProgramError, match="the program ran longer than 2 seconds at document d"):
        run(slow, [Document(f"d{i}", "") for i in range(300)], limits=Limits(seconds=2, document_seconds=1.5))


def test_a_program_that_prints_a_lot_works(texts):
    printing = program("for _ in range(1_000): print('x' * 50_000)\nchunks.append(Chunk('0', doc.doc_id, doc.text))")
    assert texts(printing, [Document("a", "kept")]) == [("a", "kept")]


@pytest.mark.parametrize(
    "statement",
    ["print('noise', file=sys.stderr)", "sys.stdout.write('noise')", "reach('write')(1, b'noise')"],
)
def test_what_a_program_prints_never_mixes_with_its_results(texts, statement):
    assert texts(at_second(statement)) == [("first", "one"), ("second", "two"), ("third", "three")]


def chunks_of(number: str, text: str) -> Program:
    return program(
        f"number, text = {number}, {text}\nif doc.text != 'two': number = 1\n"
        "chunks += [Chunk(str(n), doc.doc_id, text if doc.text == 'two' else '') for n in range(number)]"
    )


def test_a_document_may_have_10_000_chunks_and_no_more(run):
    assert len(run(chunks_of("10_000", "'word'")).chunks) == 10_002
    with pytest.raises(
        ProgramError, match=r"returned 10,001 chunks for one document; at most 10,000 .* at document second"
    ):
        run(chunks_of("10_001", "''"))


def test_the_largest_frame_that_the_limits_admit_goes_through(run):
    """Many documents, each with all the chunks and nearly all the bytes it may have, and as much metadata."""
    limits = Limits(chunks=300, floor=600, document_growth=1, corpus_growth=None, seconds=60)
    body = "chunks += [Chunk(str(n), doc.doc_id, 'ab', {}) for n in range(300)]\nchunks[0].metadata = {'x': 'y' * 590}"
    documents = [Document(str(i), "x") for i in range(600)]
    output = run(program(body), documents, limits=limits, how={"metadata": True})
    assert len(output.chunks) == 600 * 300


def test_a_document_may_grow_50_times_above_64_kib_and_no_more(run):
    assert len(run(chunks_of("1", "'x' * 65_530")).chunks) == 3
    with pytest.raises(ProgramError, match="returned more than 65,536 bytes for one document at document second"):
        run(chunks_of("2", "'x' * 32_769"))
    large = [Document("first", "one"), Document("second", "a " * 50_000), Document("third", "b" * 200_000)]
    grown = program("chunks.append(Chunk('0', doc.doc_id, doc.text * (50 if len(doc.text) == 100_000 else 1)))")
    assert len(run(grown, large).chunks) == 3
    too_much = Program(grown.source.replace("doc.text * (50", "'x' + doc.text * (50"))
    with pytest.raises(ProgramError, match="more than 5,000,000 bytes for one document at document second"):
        run(too_much, large)


def test_documents_that_are_no_corpus_are_limited_one_by_one(run):
    each = program("chunks.append(Chunk('0', doc.doc_id, 'x' * 60_000))")
    with pytest.raises(ProgramError, match="more than 65,536 bytes for the corpus"):
        run(each)
    assert len(run(each, limits=Limits(corpus_growth=None)).chunks) == 3


def test_bytes_are_counted_and_not_characters(run):
    with pytest.raises(ProgramError, match="more than 65,536 bytes"):
        run(chunks_of("1", "'ü' * 40_000"))


def test_metadata_is_limited_like_text(run):
    body = "chunks.append(Chunk('0', doc.doc_id, '', {'x': 'y' * 70_000}))"
    with pytest.raises(ProgramError, match="more than 65,536 bytes of metadata for one document at document first"):
        run(program(body), how={"metadata": True})
    assert len(run(program(body)).chunks) == 3


def test_a_corpus_may_grow_20_times_and_no_more(run):
    documents = [Document(str(i), "word " * 100) for i in range(200)]
    grow = program("chunks.append(Chunk('0', doc.doc_id, doc.text * TIMES))", module="TIMES = 20")
    assert len(run(grow, documents).chunks) == 200
    with pytest.raises(ProgramError, match="more than 2,000,000 bytes for the corpus; index less text"):
        run(Program(grow.source.replace("TIMES = 20", "TIMES = 21")), documents)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("raise RuntimeError('at once')", "the program raised RuntimeError\nTraceback of the program:"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("sys.exit(3)", "the program called sys.exit"),
        ("import os", "ImportError: import of 'os' is not allowed"),
        ("__import__('subprocess')", "ImportError: import of 'subprocess' is not allowed"),
        ("from . import other", "ImportError: import of '' is not allowed"),
        ("import xml.dom.minidom", "ImportError: import of 'xml.dom.minidom' is not allowed"),
        ("open('/etc/passwd')", "NameError: name 'open' is not defined"),
        ("sys.modules['os']", "KeyError: 'os'"),
        ("BasePreprocessor = object", "has no class Preprocessor that derives from BasePreprocessor"),
        ("while True: pass", "the program ran longer than 0.5 seconds; it was stopped"),
    ],
)
def test_a_program_whose_module_fails_is_refused_without_a_document(run, module, message):
    with pytest.raises(ProgramError) as caught:
        run(program(module=module), limits=Limits(seconds=0.5 if "while" in module else 20))
    assert message in str(caught.value)
    assert caught.value.document_id is None


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = (", "SyntaxError: '(' was never closed"),
        ("x = 1", "has no class Preprocessor"),
        ("Preprocessor = 1", "has no class Preprocessor"),
        ("from base import BasePreprocessor as Preprocessor", "has no method preprocess"),
        ("from base import BasePreprocessor\nclass Preprocessor(BasePreprocessor): pass", "has no method preprocess"),
    ],
)
def test_a_source_that_is_no_program_is_refused(run, source, message):
    with pytest.raises(ProgramError, match="the program ") as caught:
        run(Program(source))
    assert message in str(caught.value)


def test_a_constructor_that_fails_is_refused(run):
    with pytest.raises(ProgramError, match="the program raised ValueError"):
        run(program(members="def __init__(self): raise ValueError"))


@pytest.mark.parametrize(
    ("statement", "ending"),
    [
        ("reach('_exit')(0)", "ended with code 0"),
        ("reach('_exit')(3)", "ended with code 3"),
        ("reach('kill')(reach('getpid')(), 9)", "was ended by SIGKILL"),
        ("reach('abort')()", "was ended by SIGABRT"),
        ("reach('close')(5); reach('sys').modules['time'].sleep(60)", "was ended by SIGKILL"),
        ("reach('closerange')(0, 20); reach('sys').modules['time'].sleep(60)", "was ended by SIGKILL"),
    ],
)
def test_a_worker_that_is_gone_is_told_with_its_document_and_what_it_printed(run, statement, ending):
    with pytest.raises(ProgramError) as caught:
        run(at_second(f"print('last words', flush=True); {statement}"), isolation="process-only")
    assert str(caught.value).startswith(f"the program's worker {ending} at document second")
    assert "last words" in caught.value.program_traceback


def test_children_of_a_program_end_with_it(run):
    forking = at_second(
        "\n    if reach('fork')() == 0: reach('sys').modules['time'].sleep(60)\n    while True: pass",
    )
    with pytest.raises(ProgramError, match=r"longer than 0\.6 seconds at document second"):
        run(forking, limits=Limits(document_seconds=0.6, seconds=20), isolation="process-only")


def test_an_error_of_one_worker_ends_all(run, workers):
    with pytest.raises(ProgramError, match="raised ValueError at document d1500"):
        run(
            program("if doc.text == '1500': raise ValueError"),
            [Document(f"d{i}", str(i)) for i in range(4_000)],
            workers=3,
        )
    assert len(workers) == 3


def test_messages_and_tracebacks_are_short_and_printable(run):
    with pytest.raises(ProgramError) as caught:
        run(at_second("raise ValueError('\\x1b[2J\\x07\\ud800' + 'x' * 3_000_000)"))
    text = str(caught.value)
    assert len(text) < 10_000
    assert "ValueError: \ufffd[2J\ufffd\ufffdxxx" in text
    with pytest.raises(ProgramError) as caught:
        run(at_second("raise type('E' * 3_000_000, (Exception,), {})"))
    assert len(str(caught.value)) < 10_000
    with pytest.raises(ProgramError) as caught:
        run(at_second("return type('E' * 3_000_000, (), {})()"))
    assert len(str(caught.value)) < 10_000
    with pytest.raises(ProgramError) as caught:
        run(at_second("print('\\x1b\\x00' + 'x' * 3_000_000, flush=True); reach('_exit')(1)"))
    assert len(str(caught.value)) < 25_000
    assert str(caught.value).isascii() or "\ufffd" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_nothing_of_a_failed_run_disturbs_the_next(run):
    from autoindex_haystack.sandbox import DocumentFile, ProgramRunner

    with DocumentFile(DOCUMENTS) as file, ProgramRunner(at_second("raise ValueError"), file) as runner:
        for _ in range(2):
            with pytest.raises(ProgramError, match="raised ValueError at document second"):
                runner.run()
        assert runner.run(ordinals=range(1)).chunks.texts == ["one"]
