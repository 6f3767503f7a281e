"""A program's output must depend on the document alone."""

import pytest

from autoindex_haystack.errors import ProgramError
from autoindex_haystack.program import Document, Program, builtin_program
from autoindex_haystack.sandbox import Limits, check_stability

from .conftest import SHORT, program

WORDS = [Document(f"d{i}", " ".join(f"w{i * n}" for n in range(1, 9)), {"title": f"t{i}"}) for i in range(30)]


def text(expression: str) -> str:
    return f"chunks.append(Chunk('0', doc.doc_id, str({expression})))"


UNSTABLE = {
    "the order of a set": (text("' '.join(set(doc.text.split()))"), "", ""),
    "the hash of a string": (text("hash(doc.text)"), "", ""),
    "random numbers of its own": (text("RNG.random()"), "RNG = random.Random()", ""),
    "the system's random numbers": (text("random.SystemRandom().random()"), "", ""),
    "random numbers that go on within a batch": (text("random.random()"), "", ""),
    "the time": (text("reach('sys').modules['time'].time_ns()"), "", ""),
    "addresses": (text("object()"), "", ""),
    "id()": (text("id(doc)"), "", ""),
    "the opaque id": (text("doc.doc_id"), "", ""),
    "the process": (text("reach('getpid')()"), "", ""),
    "how many documents came before": ("COUNT.append(1)\n" + text("len(COUNT)"), "COUNT = []", ""),
    "the document before": (text("self.last") + "\nself.last = doc.text", "", "last = ''"),
    "the batch": (text("len(docs)"), "", ""),
    "its place in the batch": (text("docs.index(doc)"), "", ""),
    "the other documents": (text("max(d.text for d in docs)"), "", ""),
    "chunks only sometimes": ("if len(docs) == 1: " + text("1"), "", ""),
    "the order of chunks": (
        "chunks += sorted((Chunk(str(n), doc.doc_id, str(n)) for n in range(5)), key=lambda c: hash(c.text))",
        "",
        "",
    ),
    "the metadata alone": ("chunks.append(Chunk('0', doc.doc_id, '', {'n': len(docs)}))", "", ""),
}


@pytest.mark.parametrize(("body", "module", "members"), UNSTABLE.values(), ids=UNSTABLE)
def test_a_program_that_depends_on_more_than_the_document_is_refused(body, module, members):
    with pytest.raises(
        ProgramError, match=r"the program's output for document d\d+ changes with ids, batch, order"
    ) as caught:
        check_stability(program(body, module, members), WORDS, state={}, limits=SHORT)
    assert caught.value.document_id in {document.doc_id for document in WORDS}


HONEST = {
    "sorted sets": (text("' '.join(sorted(set(doc.text.split())))"), ""),
    "random numbers seeded by the document": (text("random.Random(doc.text).random()"), ""),
    "a table made with random numbers": (
        text("[TABLE[len(w)] for w in doc.text.split()]"),
        "TABLE = random.sample(range(90), 60)",
    ),
    "a cache": (text("CACHE.setdefault(doc.text, len(doc.text))"), "CACHE = {}"),
    "what it learned": (text("self.state['n'] + len(doc.text)"), ""),
    "nothing at all": ("pass", ""),
}


@pytest.mark.parametrize(("body", "module"), HONEST.values(), ids=HONEST)
def test_an_honest_program_passes(body, module):
    check_stability(program(body, module), WORDS, state={"n": 5}, limits=SHORT)


@pytest.mark.parametrize("name", ["full_document", "passages"])
@pytest.mark.parametrize("documents", [[], WORDS[:1], WORDS, WORDS * 10], ids=len)
def test_builtin_programs_pass_on_collections_of_any_size(name, documents):
    check_stability(builtin_program(name), documents, state={}, limits=SHORT)


def test_documents_from_the_whole_corpus_are_compared():
    late = program("chunks.append(Chunk('0', doc.doc_id, str(hash(doc.text)) if doc.text.startswith('x') else ''))")
    documents = [Document(str(i), "x" if i >= 900 else "y") for i in range(1_000)]
    with pytest.raises(ProgramError, match=r"for document 9\d\d changes"):
        check_stability(late, documents, state={}, limits=SHORT)


def test_an_error_of_the_program_is_told_as_such():
    with pytest.raises(ProgramError, match="raised ZeroDivisionError at document d0"):
        check_stability(program("1 / 0"), WORDS, state={}, limits=SHORT)


def test_the_limit_of_a_corpus_is_not_that_of_a_sample():
    grow = program("chunks.append(Chunk('0', doc.doc_id, doc.text * 30))")
    documents = [Document(str(i), "word " * 100) for i in range(48)]
    check_stability(grow, documents, state={}, limits=Limits())


def test_allowed_imports_are_allowed_here_too():
    importing = Program("import datetime\n" + program(text("datetime.date(2020, 1, 1)")).source)
    check_stability(importing, WORDS, state={}, limits=SHORT, allowed_imports=("datetime",))
