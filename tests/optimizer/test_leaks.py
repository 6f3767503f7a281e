"""A program that holds the texts of queries or judged documents is told from one that holds words of the field."""

import pytest

from autoindex_haystack.collection import Document
from autoindex_haystack.optimizer.leaks import find_leak
from autoindex_haystack.program import builtin_program
from autoindex_haystack.proposers import CollectionView

NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
COMMON = "this page was last changed on a sunny day"

QUERIES = {f"q{i}": f"how does number {word} behave under load" for i, word in enumerate(NUMBERS)}
JUDGED = [Document(f"j{i}", f"The {word} wing of house {word} stands on a {word} fold hill. {COMMON}")
          for i, word in enumerate(NUMBERS)]  # fmt: skip
OTHERS = [Document(f"o{i}", f"Filler text number {i}. {COMMON}") for i in range(60)]

PROGRAM = """
\"\"\"{documentation}\"\"\"
from autoindex_haystack.program import BasePreprocessor, Chunk

TABLE = {table!r}

class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        return [Chunk("0", doc.doc_id, doc.text + " ".join(TABLE)) for doc in docs]
"""


@pytest.fixture
def view() -> CollectionView:
    qrels = {query: {f"j{i}": 1, "o1": 0} for i, query in enumerate(QUERIES)}
    return CollectionView([*JUDGED, *OTHERS], QUERIES, qrels, "bm25s")


def program(table: list[str], documentation: str = "A program.") -> str:
    return PROGRAM.format(table=table, documentation=documentation)


def test_queries_in_a_program_are_found(view):
    leak = find_leak(program(list(QUERIES.values())[:4]), view)
    assert leak
    assert leak.queries >= 4
    assert "validation queries" in str(leak)


def test_queries_that_are_written_word_by_word_are_found(view):
    assert find_leak(program(" ".join(list(QUERIES.values())[:4]).split()), view)


def test_judged_documents_in_a_program_are_found(view):
    leak = find_leak(program([document.text[:40] for document in JUDGED[:5]]), view)
    assert leak
    assert leak.documents == 5


@pytest.mark.parametrize(
    "table",
    [
        [],
        ["load", "behave", "number", "wing"],
        [COMMON],
        ["running", "shoes", "and", "other", "words", "of", "the", "field"],
        [f"{n} parts of speech" for n in range(20)],
    ],
)
def test_words_and_common_phrases_are_no_leak(view, table):
    assert find_leak(program(table), view) is None


def test_documentation_is_not_read(view):
    assert find_leak(program([], " ".join(QUERIES.values())), view) is None


def test_builtin_programs_have_none(view):
    assert find_leak(builtin_program("passages").source, view) is None
