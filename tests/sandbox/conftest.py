"""Programs in real workers; after every test no process, file or descriptor may be left."""

import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from autoindex_haystack.program import Document, Program
from autoindex_haystack.sandbox import DocumentFile, Limits, ProgramOutput, ProgramRunner, runner
from autoindex_haystack.sandbox.process import WorkerProcess

SHORT = Limits(seconds=20.0, document_seconds=20.0, memory=512 << 20)
"""No test may hang for long, whatever a program does."""

DOCUMENTS = [Document("first", "one"), Document("second", "two", {"title": "Two"}), Document("third", "three")]

PROGRAM = """\
import random, re, sys
from autoindex_haystack.program import BasePreprocessor, Chunk, Document

def reach(name):
    '''What a dirty trick finds in the module os.'''
    [found] = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == "_wrap_close"]
    return found.__init__.__globals__[name]

{module}

class Preprocessor(BasePreprocessor):
{members}
    def preprocess(self, docs):
        chunks = []
        for doc in docs:
            {body}
        return chunks
"""


def program(
    body: str = "chunks.append(Chunk('0', doc.doc_id, doc.text))", module: str = "", members: str = ""
) -> Program:
    """A program with this in its loop over the documents, in its module and in its class."""
    indent = "\n            "
    return Program(
        PROGRAM.format(
            body=body.strip("\n").replace("\n", indent),
            module=module,
            members="\n".join(f"    {line}" for line in members.strip("\n").splitlines()),
        )
    )


Run = Callable[..., ProgramOutput]
Texts = Callable[..., list[tuple[str, str]]]


@pytest.fixture
def run() -> Run:
    """Run a program over documents; keywords go to the runner, those of `how` to its run."""

    def over(
        what: Program,
        documents: Sequence[Document] = DOCUMENTS,
        how: dict[str, Any] | None = None,
        calibrate: bool = False,
        **options: Any,
    ) -> ProgramOutput:
        with DocumentFile(documents) as file, ProgramRunner(what, file, **({"limits": SHORT} | options)) as started:
            if calibrate:
                started.calibrate()
            return started.run(**(how or {}))

    return over


@pytest.fixture
def texts(run: Run) -> Texts:
    """Run a program and give pairs of document id and chunk text."""

    def over(*arguments: Any, **options: Any) -> list[tuple[str, str]]:
        chunks = run(*arguments, **options).chunks
        return [(chunks.document_ids[d], text) for d, text in zip(chunks.documents, chunks.texts, strict=True)]

    return over


def living(group: int) -> list[int]:
    """The processes of a group that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except OSError:
            continue
        state, _, process_group = rest.split()[:3]
        if int(process_group) == group and state != "Z":
            found.append(int(name.split()[0]))
    return found


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def leftovers() -> set[str]:
    return {path.name for path in Path(tempfile.gettempdir()).glob("*autoindex*")}


@pytest.fixture(autouse=True)
def workers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[int]]:
    """The process ids of all workers that the test started, none of which may be left, nor what they used."""
    started: list[int] = []

    class Recorded(WorkerProcess):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self.pid)

    monkeypatch.setattr(runner, "WorkerProcess", Recorded)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = descriptors()
    yield started
    # A killed process is gone when the kernel has torn it down, which a busy machine may do a little later.
    deadline = time.monotonic() + 5
    while any(living(group) for group in started) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [group for group in started if living(group)] == []
    assert leftovers() == set()
    if descriptors() > before:
        # Something that an exception's traceback keeps may be on its way.
        gc.collect()
    assert descriptors() <= before
