"""A small collection whose figures can be worked out by hand."""

import pytest

from autoindex_haystack.collection import Collection, Document
from autoindex_haystack.program import Program

PROGRAM = """
from autoindex_haystack.program import BasePreprocessor, Chunk

class Preprocessor(BasePreprocessor):
    {calibrate}
    def preprocess(self, docs):
        return [Chunk("0", doc.doc_id, {text}) for doc in docs]
"""


def indexing(text: str, calibrate: str = "pass") -> Program:
    """A program that indexes this of each document."""
    return Program(PROGRAM.format(text=text, calibrate=calibrate))


@pytest.fixture
def small() -> Collection:
    """Six documents and three queries; one relevant document is not in the corpus."""
    return Collection(
        "small",
        [
            Document("a", "heated wing sheds ice", {"title": "Ice"}),
            Document("b", "cold engine"),
            Document("c", "ailerons steer the roll"),
            Document("d", "cold wing"),
            Document("e", ""),
            Document("f", "of the"),
        ],
        {"q1": "wing", "q2": "cold engine", "q3": "nothing like it"},
        {"q1": {"a": 2, "gone": 1}, "q2": {"b": 1, "d": 0}, "q3": {"c": 1}},
    )
