"""The cells of an experiment: each is run once and kept, so that an interrupted experiment goes on where it was."""

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from autoindex_haystack.collection import Collection, Split, load_collection, load_split, make_split
from autoindex_haystack.errors import RunError
from autoindex_haystack.evaluation import Evaluation, QuerySet, evaluate
from autoindex_haystack.evaluation.metrics import PerQuery
from autoindex_haystack.experiments.grid.spec import CollectionSpec, Condition, ExperimentSpec, check_places
from autoindex_haystack.files import atomic_file
from autoindex_haystack.optimizer import SearchSettings, is_resumable, optimize, resume
from autoindex_haystack.proposers import Proposer
from autoindex_haystack.runs import RunResult
from autoindex_haystack.sandbox import Isolation, Limits

MakeProposer = Callable[[Condition, Path, float | None], Proposer | None]
"""Makes the proposer of a condition for a run folder; None for the built-in one.

The number is the seconds that the run has taken, where one goes on that was interrupted.
"""

Told = Callable[["Cell", "CellResult | None", bool], None]
"""Called with a cell before it is run (without result), and after it; the flag tells that it was there before."""


@dataclass(frozen=True)
class Machine:
    """How cells are run here; it changes no figure.

    :param workers: Worker processes a program.
    :param jobs: Candidates evaluated side by side.
    :param limits: What a program may use.
    :param isolation: How programs are locked in.
    """

    workers: int = 1
    jobs: int = 1
    limits: Limits = field(default_factory=Limits)
    isolation: Isolation = "full"


@dataclass(frozen=True)
class Cell:
    """One run of one condition on one collection.

    :param collection: The collection.
    :param condition: The condition.
    :param split_seed: Seed of the split.
    :param seed: Seed of the search; None for a fixed program.
    """

    collection: CollectionSpec
    condition: Condition
    split_seed: int
    seed: int | None

    @property
    def key(self) -> str:
        """A name for files; different cells of an experiment have different ones."""
        parts = [self.collection.label, self.condition.name, f"split{self.split_seed}"]
        parts += [] if self.seed is None else [f"seed{self.seed}"]
        plain = "--".join(re.sub(r"[^\w.-]+", "_", part) for part in parts)
        return f"{plain}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:8]}"


class CellResult(BaseModel):
    """The file of a cell.

    :param settings: All that decides its figures; a file with other settings is made anew.
    :param queries: Ids of the held-out queries.
    :param validation: Means on the validation queries by metric.
    :param scores: Held-out query id to metric to value.
    :param seconds: How long it took.
    :param tokens: Tokens of language models.
    :param run: The run folder of a search, relative to the experiment's.
    """

    model_config = ConfigDict(extra="forbid")

    collection: str
    condition: str
    split_seed: int
    seed: int | None
    settings: dict[str, Any]
    validation: dict[str, float]
    scores: PerQuery
    seconds: float
    tokens: int = 0
    adopted: int = 0
    tried: int = 0
    growth: float = 1.0
    program_sha256: str
    run: str | None = None


def cells_of(spec: ExperimentSpec) -> Iterator[Cell]:
    """Returns the cells, those of a collection one after the other.

    :param spec: The experiment.
    """
    for collection in spec.collections:
        for split_seed in spec.split_seeds if collection.split is None else spec.split_seeds[:1]:
            for condition in spec.conditions:
                for seed in [None] if condition.program else spec.seeds:
                    yield Cell(collection, condition, split_seed, seed)


def run_experiment(
    spec: ExperimentSpec,
    folder: Path,
    *,
    machine: Machine = Machine(),
    proposer: MakeProposer = lambda _, __, ___: None,
    told: Told = lambda _, __, ___: None,
) -> list[CellResult]:
    """Run the cells that are not there yet.

    :param spec: The experiment.
    :param folder: Where cells and run folders are kept.
    :param machine: How cells are run here.
    :param proposer: Makes the proposers of the conditions that search.
    :param told: Called as it goes on.
    :returns: The results of all cells, in their order.
    :raises AutoIndexError: If a collection, a program or a split cannot be used; finished cells are kept.
    """
    check_places(spec)
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    results = []
    loaded: tuple[CollectionSpec, Collection] | None = None
    for cell in cells_of(spec):
        if loaded is None or loaded[0] != cell.collection:
            loaded = (
                cell.collection,
                load_collection(cell.collection.path, metadata_fields=cell.collection.metadata_fields),
            )
        collection = loaded[1]
        path = folder / "cells" / f"{cell.key}.json"
        settings = _settings(spec, cell, collection)
        result = _read(path, settings)
        if result is None:
            told(cell, None, False)
            result = _run(spec, cell, collection, settings, folder, machine, proposer)
            with atomic_file(path) as temporary:
                temporary.write_text(result.model_dump_json(indent=1) + "\n", encoding="utf-8")
            told(cell, result, False)
        else:
            told(cell, result, True)
        results.append(result)
    _check_queries(results)
    return results


def _settings(spec: ExperimentSpec, cell: Cell, collection: Collection) -> dict[str, Any]:
    """All that decides the figures of a cell, as JSON gives it back."""
    split = None if cell.collection.split is None else cell.collection.split.read_text(encoding="utf-8")
    program = cell.condition.program
    path = Path(program) if program else None
    content = [file.read_bytes().hex() for file in _files(path)] if path and path.exists() else program
    decides = {
        "condition": cell.condition.model_dump(mode="json", exclude={"name"}),
        "program": hashlib.sha256(json.dumps(content).encode()).hexdigest() if program else None,
        "backend": spec.backend,
        "bm25": spec.bm25.model_dump(mode="json"),
        "metadata_fields": cell.collection.metadata_fields,
        "fingerprint": collection.fingerprint,
        "split": split,
        "split_seed": cell.split_seed,
        "seed": cell.seed,
    }
    return dict(json.loads(json.dumps(decides)))


def _files(path: Path) -> list[Path]:
    """What a program given by a path consists of."""
    return sorted(p for p in path.glob("*") if p.suffix in (".py", ".json")) if path.is_dir() else [path]


def _read(path: Path, settings: dict[str, Any]) -> CellResult | None:
    """Read a finished cell; None when it is not there, or was made with other settings."""
    try:
        result = CellResult.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        msg = f"{path} is no finished cell ({str(error).splitlines()[0]}); delete the file to run the cell again"
        raise RunError(msg) from error
    return result if result.settings == settings else None


def _run(
    spec: ExperimentSpec,
    cell: Cell,
    collection: Collection,
    settings: dict[str, Any],
    folder: Path,
    machine: Machine,
    proposer: MakeProposer,
) -> CellResult:
    split = (
        make_split(collection, cell.split_seed)
        if cell.collection.split is None
        else load_split(cell.collection.split, collection)
    )
    program, searched = cell.condition.program, None
    run = folder / "runs" / cell.key
    if program is None:
        searched = _search(spec, cell, collection, split, run, machine, proposer)
        program = str(run / "frozen")
    began = time.monotonic()

    def scored(queries: QuerySet) -> Evaluation:
        return evaluate(
            collection,
            program,
            queries=queries,
            split=split,
            bm25=spec.bm25,
            backend=spec.backend,
            limits=machine.limits,
            workers=machine.workers,
            isolation=machine.isolation,
        )

    held_out = scored("held-out")
    return CellResult(
        collection=cell.collection.label,
        condition=cell.condition.name,
        split_seed=cell.split_seed,
        seed=cell.seed,
        settings=settings,
        validation=searched.learned.validation if searched else scored("validation").metrics,
        scores=held_out.scores,
        seconds=time.monotonic() - began + (searched.seconds["total"] if searched else 0.0),
        tokens=_tokens(searched),
        adopted=searched.adopted if searched else 0,
        tried=searched.tried if searched else 0,
        growth=held_out.growth,
        program_sha256=held_out.program_sha256,
        run=str(run.relative_to(folder)) if searched else None,
    )


def _search(
    spec: ExperimentSpec,
    cell: Cell,
    collection: Collection,
    split: Split,
    run: Path,
    machine: Machine,
    proposer: MakeProposer,
) -> RunResult:
    assert cell.seed is not None
    search = SearchSettings(
        seed=cell.seed,
        bm25=spec.bm25,
        backend=spec.backend,
        limits=machine.limits,
        workers=machine.workers,
        jobs=machine.jobs,
        isolation=machine.isolation,
        **cell.condition.search,
    )
    made = proposer(cell.condition, run, None)
    if not is_resumable(run, collection, split, search, made):
        return optimize(collection, run, settings=search, proposer=made, split=split, force=True)
    again = (lambda spent: proposer(cell.condition, run, spent) or made) if made else None
    how: dict[str, Any] = {"workers": machine.workers, "jobs": machine.jobs, "isolation": machine.isolation}
    return resume(run, collection=collection, proposer=again, **how)


def _tokens(result: RunResult | None) -> int:
    """Tokens that a search used, if it asked a language model."""
    used = getattr(result, "llm", None)
    return int(used.get("tokens", 0)) if isinstance(used, dict) else 0


def _check_queries(results: list[CellResult]) -> None:
    """See that all cells of a collection and a split were scored on the same queries."""
    asked: dict[tuple[str, int], set[str]] = {}
    for result in results:
        queries = asked.setdefault((result.collection, result.split_seed), set(result.scores))
        if queries != set(result.scores):
            msg = f"{result.condition} on {result.collection} was scored on other queries than the conditions before it"
            raise RunError(msg)
