"""Programs run over a few documents, in real workers."""

from collections.abc import Callable, Sequence

import pytest

from autoindex_haystack.program import Document, Program
from autoindex_haystack.sandbox import DocumentFile, ProgramRunner

Run = Callable[[Program, Sequence[Document]], list[tuple[str, str]]]


@pytest.fixture
def run() -> Run:
    """Run a program and give pairs of document id and chunk text."""

    def over(program: Program, documents: Sequence[Document]) -> list[tuple[str, str]]:
        with DocumentFile(documents) as file, ProgramRunner(program, file) as runner:
            chunks = runner.run().chunks
        return [(chunks.document_ids[d], text) for d, text in zip(chunks.documents, chunks.texts, strict=True)]

    return over
