"""What programs that were learned elsewhere are worth on a collection: unchanged, recalibrated, and to start from."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from autoindex_haystack.collection import Collection, Split, load_collection, load_split, make_split
from autoindex_haystack.errors import CollectionError, FrozenError, ProgramError, SandboxError, SandboxUnavailable
from autoindex_haystack.evaluation import (
    OBJECTIVE,
    Evaluation,
    PairedDifference,
    PerQuery,
    evaluate,
    means,
    paired_difference,
)
from autoindex_haystack.experiments.grid.summary import holm
from autoindex_haystack.frozen import FrozenComponent, load_frozen
from autoindex_haystack.optimizer import SearchSettings, optimize
from autoindex_haystack.program import Program, builtin_program, read_program
from autoindex_haystack.retrieval import BM25Settings

METRICS = (OBJECTIVE, "ndcg@10")

Use = Literal["unchanged", "recalibrated", "start of a search"]

Told = Callable[[str, int, int], None]
"""Called with what is being done, and how many of all rows are done."""


@dataclass(frozen=True)
class Used:
    """One way to use one program on the collection.

    :param program: The program's name.
    :param learned_on: The collection it was learned on; empty for one that was not.
    :param use: How it is used.
    :param error: Why it has no figures here; empty when it has.
    :param validation: Means over the validation queries by metric.
    :param held_out: Means over the held-out queries.
    :param differences: To the full documents, over held-out queries, by metric.
    :param p_values: Those of the differences, corrected by Holm's method for all rows of the metric.
    :param growth: Bytes of the chunks relative to the corpus.
    :param seconds: How long it took.
    :param adopted: Of a search, how many programs it adopted.
    :param program_sha256: The program that was evaluated.
    """

    program: str
    learned_on: str
    use: Use
    error: str = ""
    validation: dict[str, float] = field(default_factory=dict)
    held_out: dict[str, float] = field(default_factory=dict)
    differences: dict[str, PairedDifference] = field(default_factory=dict)
    p_values: dict[str, float] = field(default_factory=dict)
    growth: float | None = None
    seconds: float = 0.0
    adopted: int | None = None
    program_sha256: str = ""


@dataclass(frozen=True)
class Transfer:
    """What came of all programs; the full documents come first.

    :param collection: The collection's name.
    :param queries: How many validation and held-out queries it has.
    :param rows: The ways in which programs were used.
    :param notes: What a reader should know.
    """

    collection: str
    queries: dict[str, int]
    rows: tuple[Used, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Candidate:
    """A program with its name and the uses that differ."""

    name: str
    learned_on: str
    program: Program | FrozenComponent
    uses: tuple[Use, ...]


def transfer(
    programs: Sequence[str | Path],
    collection: str | Path,
    *,
    search: SearchSettings = SearchSettings(iterations=3),  # noqa: B008 - frozen
    runs: Path | None = None,
    split: Path | None = None,
    split_seed: int = 0,
    told: Told = lambda _, __, ___: None,
) -> Transfer:
    """Measure what programs are worth on a collection that they were not learned on.

    Each is applied with what it learned before, with what it learns from this corpus, and as the start of a search; a
    search that starts from the full documents stands beside them.

    :param programs: Frozen components or Python files.
    :param collection: The folder of the collection.
    :param search: How searches are done; none with 0 iterations. Its engine, BM25 settings and limits hold for all.
    :param runs: Where the run folders of the searches are kept; nowhere when not given.
    :param split: The split of the queries, or a run that has it; made with ``split_seed`` when not given.
    :param split_seed: Seed of the split.
    :param told: Called as it goes on.
    :returns: The figures. A program that fails here has its error in their place.
    :raises AutoIndexError: If the collection, the split or a component cannot be used.

    ```python
    from autoindex_haystack.experiments.transfer import transfer

    for row in transfer(["one_run/frozen", "other_run/frozen"], "my_collection").rows:
        print(row.program, row.use, row.held_out.get("recall@100"))
    ```
    """
    candidates = [_Candidate("full_document", "", builtin_program("full_document"), ("unchanged",))]
    candidates += _named(programs)
    corpora = _Corpora(Path(collection))
    loaded = corpora.get(())
    parted = load_split(split, loaded) if split else make_split(loaded, split_seed)
    uses = [
        (candidate, use)
        for candidate in candidates
        for use in (*candidate.uses, *(("start of a search",) if search.iterations else ()))
    ]
    rows: list[Used] = []
    baseline: PerQuery = {}
    with _kept(runs) as place:
        for number, (candidate, use) in enumerate(uses):
            told(f"{candidate.name}, {use}", number, len(uses))
            row = Used(candidate.name, candidate.learned_on, use)
            began = time.monotonic()
            try:
                found, adopted = _use(candidate, use, corpora, parted, search, place / f"{number:02}")
            except SandboxUnavailable:
                raise
            except (ProgramError, SandboxError, CollectionError) as error:
                if not rows:
                    raise
                rows.append(replace(row, error=str(error), seconds=time.monotonic() - began))
                continue
            baseline = baseline or found.scores
            row = replace(row, adopted=adopted, seconds=time.monotonic() - began)
            rows.append(_filled(row, found, baseline, parted))
    notes = [*loaded.notes(), *_own(candidates, loaded)]
    queries = {"validation": len(parted.validation), "held_out": len(parted.held_out)}
    return Transfer(loaded.name, queries, _corrected(rows), tuple(notes))


def common_settings(programs: Sequence[str | Path]) -> BM25Settings:
    """Find the BM25 settings with which programs were learned.

    :param programs: Frozen components or Python files.
    :returns: Their settings; the defaults when none of them says.
    :raises FrozenError: If they differ.
    """
    known = {load_frozen(path).manifest.settings.bm25 for path in programs if Path(path).is_dir()}
    if len(known) > 1:
        msg = "the components were learned with different BM25 settings; say which hold here: --k1, --b and --analyzer"
        raise FrozenError(msg)
    return next(iter(known), BM25Settings())


class _Corpora:
    """The collection, loaded once for each set of metadata fields that programs see."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loaded: dict[tuple[str, ...], Collection] = {}

    def get(self, fields: tuple[str, ...]) -> Collection:
        if fields not in self._loaded:
            self._loaded[fields] = load_collection(self._folder, metadata_fields=fields)
        return self._loaded[fields]


def _named(programs: Sequence[str | Path]) -> Iterator[_Candidate]:
    """Load the programs; one that shares its collection's name with another is named by its place."""
    loaded = [load_frozen(path) if Path(path).is_dir() else read_program(Path(path)) for path in programs]
    origins = [
        one.manifest.learned_on.name if isinstance(one, FrozenComponent) and one.manifest.learned_on else ""
        for one in loaded
    ]
    for path, one, origin in zip(programs, loaded, origins, strict=True):
        name = origin if origin and origins.count(origin) == 1 else str(path)
        uses: tuple[Use, ...] = ("recalibrated",)
        if isinstance(one, FrozenComponent):
            uses = ("unchanged", "recalibrated") if one.state else ("unchanged",)
        yield _Candidate(name, origin, one, uses)


def _use(
    candidate: _Candidate, use: Use, corpora: _Corpora, split: Split, search: SearchSettings, run: Path
) -> tuple[Evaluation, int | None]:
    """Score all queries; also returns how many programs a search adopted."""
    program, adopted = candidate.program, None
    own = program.manifest.settings if isinstance(program, FrozenComponent) else None
    collection = corpora.get(own.metadata_fields if own else ())
    if use == "start of a search":
        result = optimize(collection, run, settings=search, split=split, start=program)
        program, adopted = load_frozen(result.frozen), result.adopted
    found = evaluate(
        collection,
        program,
        recalibrate=use == "recalibrated",
        bm25=search.bm25,
        backend=search.backend,
        allowed_imports=search.allowed_imports,
        limits=search.limits,
        workers=search.workers,
        isolation=search.isolation,
    )
    return found, adopted


def _filled(row: Used, found: Evaluation, baseline: PerQuery, split: Split) -> Used:
    """The row with its figures."""

    def of(queries: Sequence[str]) -> dict[str, float]:
        values = means({query: found.scores[query] for query in queries})
        return {metric: values[metric] for metric in METRICS}

    def differ(metric: str) -> PairedDifference:
        old, new = ([scores[query][metric] for query in split.held_out] for scores in (baseline, found.scores))
        return paired_difference(new, old)

    return replace(
        row,
        validation=of(split.validation),
        held_out=of(split.held_out),
        differences={metric: differ(metric) for metric in METRICS},
        growth=found.growth,
        program_sha256=found.program_sha256,
    )


def _corrected(rows: Sequence[Used]) -> tuple[Used, ...]:
    """Correct the p-values for the number of rows that are compared with the first one."""
    p_values: dict[int, dict[str, float]] = {i: {} for i in range(len(rows))}
    for metric in METRICS:
        plain: Mapping[int, float] = {
            i: row.differences[metric].p_value for i, row in enumerate(rows) if i and row.differences
        }
        for i, p_value in holm(dict(plain)).items():
            p_values[i][metric] = p_value
    return tuple(replace(row, p_values=p_values[i]) for i, row in enumerate(rows))


def _own(candidates: Sequence[_Candidate], collection: Collection) -> Iterator[str]:
    """Say which programs were learned on this very collection."""
    for candidate in candidates:
        one = candidate.program
        on = one.manifest.learned_on if isinstance(one, FrozenComponent) else None
        if on and on.fingerprint == collection.fingerprint:
            yield f"{candidate.name} was learned on this collection: its figures are no transfer."


@contextmanager
def _kept(runs: Path | None) -> Iterator[Path]:
    """Where run folders are written; a temporary folder when they are not to be kept."""
    place = runs or Path(tempfile.mkdtemp(prefix="autoindex-"))
    try:
        yield place
    finally:
        if runs is None:
            shutil.rmtree(place, ignore_errors=True)
