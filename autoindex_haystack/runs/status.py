"""How far a run is: a small file that its process keeps up to date, for whoever looks on."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from autoindex_haystack.errors import RunError
from autoindex_haystack.evaluation.objective import Objective, objective_value
from autoindex_haystack.files import atomic_file
from autoindex_haystack.runs.folder import read_info, read_result
from autoindex_haystack.runs.lock import is_at_work

_FILE = "status.json"

State = Literal["finished", "running", "interrupted"]


class CandidateStatus(BaseModel):
    """A candidate of the present iteration.

    :param number: Its number, from 1.
    :param idea: What it does differently.
    :param state: ``waiting``, ``at work``, ``tried``, ``dropped`` or ``failed``.
    :param gain: Its gain in the objective over the incumbent, an estimate when it was dropped.
    """

    model_config = ConfigDict(extra="forbid")

    number: int
    idea: str
    state: str = "waiting"
    gain: float | None = None


class RunStatus(BaseModel):
    """The file ``status.json``.

    :param seconds: How long the run has taken, interruptions left out.
    :param phase: What is being done.
    :param iteration: The present iteration; 0 before the first.
    :param iterations: How many there are at most.
    :param objective: What is maximized.
    :param baseline: The baseline's objective on the validation queries; None before it is known.
    :param best: That of the best program so far.
    :param gain: The difference.
    :param low: The lower end of its 95 % interval, not corrected for choosing the best.
    :param high: The upper end.
    :param tried: Candidates that were tried.
    :param adopted: Programs that were adopted.
    :param candidates: The candidates of the present iteration.
    :param llm: Calls, tokens and cost of a language model so far, with the limits; None when none is asked.
    :param seconds_left: How long the other iterations will take, if they take as long as those before.
    """

    model_config = ConfigDict(extra="forbid")

    seconds: float = 0.0
    phase: str = ""
    iteration: int = 0
    iterations: int
    objective: Objective
    baseline: float | None = None
    best: float | None = None
    gain: float = 0.0
    low: float = 0.0
    high: float = 0.0
    tried: int = 0
    adopted: int = 0
    candidates: list[CandidateStatus] = []
    llm: dict[str, Any] | None = None
    seconds_left: float | None = None

    def save(self, run: Path) -> None:
        """Write it into a run folder; that it cannot be written disturbs nothing.

        :param run: The run folder.
        """
        with suppress(OSError, RunError), atomic_file(run / _FILE) as temporary:
            temporary.write_text(self.model_dump_json() + "\n", encoding="utf-8")


class RunSummary(BaseModel):
    """A run among others.

    :param run: The run folder.
    :param state: Whether it is finished, running, or can be resumed.
    :param collection: The collection's name.
    :param proposer: Who suggests programs.
    :param status: How far it is; None when nothing is known of that.
    :param learned: The held-out objective of the learned program; None before the end.
    :param held_out_gain: Its gain over the baseline on the held-out queries; None before the end.
    """

    run: str
    state: State
    collection: str
    proposer: str
    status: RunStatus | None
    learned: float | None = None
    held_out_gain: float | None = None


def read_status(run: Path) -> RunStatus | None:
    """Read how far a run is.

    :param run: The run folder.
    :returns: The status; None when there is none that can be read.
    """
    with suppress(OSError, ValidationError, json.JSONDecodeError):
        return RunStatus.model_validate_json((run / _FILE).read_bytes())
    return None


def state_of(run: Path) -> State:
    """Tell whether a run is finished, running or interrupted.

    :param run: The run folder.
    """
    if is_at_work(run):
        return "running"
    return "finished" if (run / "result.json").exists() else "interrupted"


def summarize(run: Path) -> RunSummary:
    """Tell the most important of a run.

    :param run: The run folder.
    :returns: The summary.
    :raises RunError: If the folder holds no run.
    """
    info, state = read_info(run), state_of(run)
    summary = RunSummary(
        run=str(run),
        state=state,
        collection=info.collection,
        proposer=info.settings.proposer,
        status=read_status(run),
    )
    if state == "finished":
        result = read_result(run)
        summary.held_out_gain = result.gain.held_out
        summary.learned = objective_value(result.learned.held_out, info.settings.objective)
    return summary


def list_runs(folder: Path) -> list[RunSummary]:
    """Find the runs in a folder, or in its folders and theirs.

    :param folder: The folder; a run folder itself is fine.
    :returns: The runs in the order of their names; what cannot be read as one is left out.
    """
    found = []
    for path in sorted({path.parent for depth in ("", "*/", "*/*/") for path in folder.glob(f"{depth}run.json")}):
        with suppress(RunError):
            found.append(summarize(path))
    return found
