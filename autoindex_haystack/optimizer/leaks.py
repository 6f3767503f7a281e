"""The leak scan: does a program hold texts that it can only have from the validation queries or judged documents?

A program that writes the words of a query into the documents judged for it gains on that query and on no other. The
scan looks at the program's string literals, and compares how many sequences of words they share with the queries and
the judged documents with how many they share with as many other documents of the corpus: what is common in the
collection is common to both.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from autoindex_haystack.collection import ids_of
from autoindex_haystack.program.source import parse
from autoindex_haystack.proposers import CollectionView

_WORD = re.compile(r"\w+")
_QUERY_WORDS, _DOCUMENT_WORDS = 3, 6
"""Words in a row that count as one match. Queries are short; a document's six words are seldom said twice."""

_FACTOR, _LEAST = 5, 3
"""A warning needs so many times what chance gives, and at least so many queries or documents."""

_MOST_DOCUMENTS = 20_000


@dataclass(frozen=True)
class Leak:
    """What a program's literals share with what it must not know.

    :param queries: Validation queries of which literals hold words in a row.
    :param documents: Judged documents of which they do.
    :param expected: How many of as many other documents share words with the literals in the same way.
    """

    queries: int
    documents: int
    expected: float

    def __str__(self) -> str:
        return (
            f"holds texts of {self.queries} validation queries and {self.documents} judged documents (by chance "
            f"{self.expected:.1f}): its gain may not hold for other queries. Read it before use."
        )


def find_leak(source: str, view: CollectionView) -> Leak | None:
    """Scan a program.

    :param source: The program.
    :param view: The collection, with the validation queries and their judgments.
    :returns: What was found, or None when there is no more of it than chance gives.
    """
    literals = list(_literals(source))
    short = _sequences(literals, _QUERY_WORDS)
    if not short:
        return None
    long = _sequences(literals, _DOCUMENT_WORDS)
    judged = {document for grades in view.qrels.values() for document, grade in grades.items() if grade > 0}
    ids = ids_of(view.documents)
    inside = [view.documents[i].text for i, name in enumerate(ids) if name in judged][:_MOST_DOCUMENTS]
    others = _spread([i for i, name in enumerate(ids) if name not in judged], _MOST_DOCUMENTS)
    outside = [view.documents[i].text for i in others]
    # A query's words may be common phrases of the collection; such are no secret.
    common = _sequences(outside, _QUERY_WORDS, among=short)
    queries = _sharing(view.queries.values(), short - common, _QUERY_WORDS)
    documents = _sharing(inside, long, _DOCUMENT_WORDS)
    share = _sharing(outside, long, _DOCUMENT_WORDS) / len(outside) if outside else 0.0
    expected = share * len(inside)
    if queries >= _LEAST or documents >= max(_LEAST, _FACTOR * expected):
        return Leak(queries, documents, expected)
    return None


def _literals(source: str) -> Iterator[str]:
    """The strings in a program, those of documentation left out; short ones also joined, as in a list of words."""
    tree = parse(source)
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            parts = [part.value for part in node.elts if isinstance(part, ast.Constant)]
            yield " ".join(part for part in parts if isinstance(part, str))


def _sequences(texts: Iterable[str], length: int, among: set[tuple[str, ...]] | None = None) -> set[tuple[str, ...]]:
    """All sequences of so many words in the texts; only those ``among`` some when given."""
    found: set[tuple[str, ...]] = set()
    for text in texts:
        words = _WORD.findall(text.lower())
        rows = zip(*(words[i:] for i in range(length)), strict=False)
        found.update(rows if among is None else (row for row in rows if row in among))
    return found


def _sharing(texts: Iterable[str], sequences: set[tuple[str, ...]], length: int) -> int:
    """How many texts hold one of the sequences."""
    return sum(bool(_sequences([text], length, sequences)) for text in texts) if sequences else 0


def _spread(ordinals: list[int], most: int) -> list[int]:
    """At most so many of the documents, evenly over all of them."""
    return ordinals[:: max(1, -(-len(ordinals) // most))]
