"""The queries of a run under the baseline and under the learned program: figures, ranks and texts.

Written once, when the search is over: the held-out queries are in it, and nothing that chooses programs reads it.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from autoindex_haystack.collection import Collection, Document, Split
from autoindex_haystack.errors import RunError
from autoindex_haystack.evaluation import Evaluation
from autoindex_haystack.files import atomic_file

FILE = "comparison.json"

_TEXT = 1_000
"""Characters of a query that are kept."""

_BEGINNING = 240
"""Characters of a document that are kept."""


class RankedDocument(BaseModel):
    """A relevant document that is among the first 100 under one of the programs.

    :param grade: How relevant it is.
    :param before: Its rank with the baseline; None when it is not among the first 100.
    :param after: Its rank with the learned program.
    :param title: Its title.
    :param beginning: How its text begins; only of a document that came in or dropped out.
    """

    model_config = ConfigDict(extra="forbid")

    doc_id: str
    grade: int
    before: int | None
    after: int | None
    title: str = ""
    beginning: str = ""


class QueryComparison(BaseModel):
    """A query under both programs.

    :param relevant: How many relevant documents it has.
    :param before: Metric to value with the baseline.
    :param after: Metric to value with the learned program.
    :param documents: The relevant documents that either finds, the best ranks of the learned program first.
    """

    model_config = ConfigDict(extra="forbid")

    query_id: str
    text: str
    relevant: int
    before: dict[str, float]
    after: dict[str, float]
    documents: list[RankedDocument]


class Comparison(BaseModel):
    """The file ``comparison.json``.

    :param baseline: The hash of the program that the search began with.
    :param learned: The hash of the program that it ended with.
    :param validation: The queries by which the learned program was chosen.
    :param held_out: The queries that judged it at the end.
    """

    model_config = ConfigDict(extra="forbid")

    format_version: int = 1
    baseline: str
    learned: str
    validation: list[QueryComparison]
    held_out: list[QueryComparison]

    @classmethod
    def of(
        cls,
        collection: Collection,
        split: Split,
        validation: tuple[Evaluation, Evaluation],
        held_out: tuple[Evaluation, Evaluation],
    ) -> "Comparison":
        """Compare two programs query by query.

        :param collection: The collection.
        :param split: The split of its queries.
        :param validation: The evaluations of baseline and learned program on the validation queries.
        :param held_out: Those on the held-out queries.
        :returns: The comparison.
        """
        texts = _Texts(collection)
        return cls(
            baseline=validation[0].program_sha256,
            learned=validation[1].program_sha256,
            validation=[_compare(collection, query, *validation, texts) for query in split.validation],
            held_out=[_compare(collection, query, *held_out, texts) for query in split.held_out],
        )

    def save(self, run: Path) -> None:
        """Write it into a run folder, whole or not at all.

        :param run: The run folder.
        """
        with atomic_file(run / FILE) as temporary:
            temporary.write_text(self.model_dump_json() + "\n", encoding="utf-8")


def read_comparison(run: Path) -> Comparison | None:
    """Read how the queries of a run did.

    :param run: The run folder.
    :returns: The comparison; None when an earlier version made the run and wrote none.
    :raises RunError: If the file is damaged.
    """
    try:
        return Comparison.model_validate_json((run / FILE).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        msg = f"{run / FILE} cannot be read ({str(error).splitlines()[0]}); remove it to do without it"
        raise RunError(msg) from error


class _Texts:
    """Finds documents by their ids; the places are looked up once it is needed."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._places: Mapping[str, int] | None = None

    def __call__(self, doc_id: str) -> Document:
        if self._places is None:
            self._places = {known: place for place, known in enumerate(self._collection.document_ids)}
        return self._collection.documents[self._places[doc_id]]


def _compare(
    collection: Collection, query: str, before: Evaluation, after: Evaluation, texts: _Texts
) -> QueryComparison:
    grades = {doc_id: grade for doc_id, grade in collection.qrels[query].items() if grade > 0}
    old, new = _ranks(before.rankings[query], grades), _ranks(after.rankings[query], grades)
    found = sorted(old.keys() | new.keys(), key=lambda doc_id: (new.get(doc_id, 101), old.get(doc_id, 101), doc_id))
    documents = []
    for doc_id in found:
        moved = (doc_id in old) != (doc_id in new)
        document = RankedDocument(doc_id=doc_id, grade=grades[doc_id], before=old.get(doc_id), after=new.get(doc_id))
        if moved:
            source = texts(doc_id)
            document.title = str(source.metadata.get("title") or "")[:_BEGINNING]
            document.beginning = source.text[:_BEGINNING]
        documents.append(document)
    return QueryComparison(
        query_id=query,
        text=collection.queries[query][:_TEXT],
        relevant=len(grades),
        before=before.scores[query],
        after=after.scores[query],
        documents=documents,
    )


def _ranks(ranking: Iterable[tuple[str, float]], grades: Mapping[str, int]) -> dict[str, int]:
    return {doc_id: rank for rank, (doc_id, _) in enumerate(ranking, start=1) if doc_id in grades}
