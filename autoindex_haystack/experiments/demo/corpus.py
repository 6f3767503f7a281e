"""The demo collection in BEIR layout: the standard library of the running interpreter, and questions judged by hand.

It is built on the spot, without network and without importing modules that do something on import. Its files are the
same, byte for byte, whenever the same interpreter builds them.
"""

import json
import sysconfig
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from autoindex_haystack.errors import CollectionError
from autoindex_haystack.experiments.demo.entries import Entry
from autoindex_haystack.experiments.demo.imported import IMPORTED_MODULES, imported_entries
from autoindex_haystack.experiments.demo.source import SourceLibrary
from autoindex_haystack.files import atomic_folder


class Question(BaseModel):
    """A question and the documents that answer it, as one line of `questions.jsonl` has them.

    :param id: The query id.
    :param text: The question.
    :param relevant: Document id → grade: 2 answers the question, 1 helps.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(alias="_id")
    text: str = Field(min_length=1)
    relevant: dict[str, Annotated[int, Field(ge=1, le=2)]] = Field(min_length=1)


@dataclass(frozen=True)
class DemoCounts:
    """What the demo collection holds, and what this interpreter lacks of it.

    :param documents: Documents in the corpus.
    :param queries: Questions with at least one judged document.
    :param judgments: Judgments of these questions.
    :param dropped_queries: Questions left out because none of their judged documents exists here.
    :param dropped_judgments: Judgments left out because the document does not exist here.
    """

    documents: int
    queries: int
    judgments: int
    dropped_queries: int
    dropped_judgments: int


def write_collection(folder: Path, *, force: bool = False) -> DemoCounts:
    """Write `corpus.jsonl`, `queries.jsonl` and `qrels.tsv` into a folder.

    :param folder: The folder to create.
    :param force: Replace what is there.
    :returns: The counts.
    :raises RunError: If the place is taken or cannot be written.
    :raises CollectionError: If the standard library of this interpreter has no source files.
    """
    documents = demo_documents()
    questions = demo_questions()
    kept = [restricted for question in questions if (restricted := _restricted(question, documents))]
    judgments = sum(len(question.relevant) for question in kept)
    with atomic_folder(folder, force=force) as temporary:
        _write_lines(temporary / "corpus.jsonl", map(_corpus_line, documents.values()))
        _write_lines(temporary / "queries.jsonl", map(_query_line, kept))
        _write_lines(temporary / "qrels.tsv", _qrels_lines(kept))
    return DemoCounts(
        documents=len(documents),
        queries=len(kept),
        judgments=judgments,
        dropped_queries=len(questions) - len(kept),
        dropped_judgments=sum(len(question.relevant) for question in questions) - judgments,
    )


def demo_documents() -> dict[str, Entry]:
    """Return the pages of the standard library by name, in the order of their names.

    :raises CollectionError: If the standard library of this interpreter has no source files.
    """
    folder = Path(sysconfig.get_path("stdlib"))
    if not (folder / "shutil.py").is_file():
        msg = f"{folder} holds no source of the standard library; run the demo with a Python that has it"
        raise CollectionError(msg)
    entries: dict[str, Entry] = {}
    for source in (imported_entries(), SourceLibrary(folder, frozenset(IMPORTED_MODULES)).entries()):
        for entry in source:
            entries.setdefault(entry.name, entry)
    return dict(sorted(entries.items()))


def demo_questions() -> list[Question]:
    """Return all questions with all their judgments, whether or not this interpreter has the documents."""
    lines = files(__package__).joinpath("questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [Question.model_validate_json(line) for line in lines]


def _restricted(question: Question, document_ids: Container[str]) -> Question | None:
    relevant = {name: grade for name, grade in question.relevant.items() if name in document_ids}
    return question.model_copy(update={"relevant": relevant}) if relevant else None


def _corpus_line(entry: Entry) -> str:
    return _json({"_id": entry.name, "title": entry.name, "text": entry.text, "metadata": {}})


def _query_line(question: Question) -> str:
    return _json({"_id": question.id, "text": question.text})


def _qrels_lines(questions: Iterable[Question]) -> Iterator[str]:
    yield "query-id\tcorpus-id\tscore"
    for question in questions:
        for name, grade in question.relevant.items():
            yield f"{question.id}\t{name}\t{grade}"


def _json(record: dict[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)
