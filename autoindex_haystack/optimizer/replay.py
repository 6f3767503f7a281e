"""Repeating a run: the same settings, split and proposer, and a language model's answers from the recording."""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from autoindex_haystack.collection import load_collection, load_split
from autoindex_haystack.errors import RunError
from autoindex_haystack.files import refuse_existing
from autoindex_haystack.llm import EXCHANGES, Recorded
from autoindex_haystack.optimizer.events import Listener, Phase
from autoindex_haystack.optimizer.search import begin
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.proposers import Proposer
from autoindex_haystack.proposers.agents import AgentSettings
from autoindex_haystack.proposers.factory import make_proposer
from autoindex_haystack.runs import RunResult, RunSettings, kept_program, read_info, refuse_at_work
from autoindex_haystack.sandbox import Isolation, Limits

_REPEATS = "repeats"
"""In place of how a model is reached: the run whose recording answers."""


def replay(
    collection: str | Path,
    run: str | Path,
    out: str | Path,
    *,
    workers: int = 1,
    jobs: int = 1,
    isolation: Isolation = "full",
    force: bool = False,
    listener: Listener | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> RunResult:
    """Repeat a run without any network: the same programs, figures and decisions.

    When it is interrupted, :func:`~autoindex_haystack.optimizer.resume` goes on with it, as long as ``run`` is there.

    :param collection: The folder of the collection that the run was made with.
    :param run: The run folder.
    :param out: The run folder to write.
    :param workers: Worker processes.
    :param jobs: Candidates evaluated side by side.
    :param isolation: How programs are isolated.
    :param force: Replace an existing run folder.
    :param listener: Called with events as the search goes on.
    :param stop: Asked between steps whether the search shall stop.
    :returns: The result.
    :raises RunError: If ``run`` is no run, or one of another collection.
    :raises ReplayError: If its recording does not hold what is asked of it.
    """
    run, out = Path(run), Path(out)
    refuse_existing(out, force=force)
    refuse_at_work(out)
    info = read_info(run)
    tell = (lambda done: listener(Phase("reading documents", done))) if listener else None
    loaded = load_collection(collection, metadata_fields=info.settings.metadata_fields, progress=tell)
    if loaded.fingerprint != info.fingerprint:
        msg = f"{run} was made with another collection than {collection} is now ({info.collection}); give that one"
        raise RunError(msg)
    return begin(
        loaded,
        out,
        Path(collection).resolve(),
        replace(recorded_settings(info.settings), workers=workers, jobs=jobs, isolation=isolation),
        repeating_proposer(info.settings, run, out),
        load_split(run, loaded),
        start=kept_program(run, info.settings.start) if info.settings.start else None,
        listener=listener,
        stop=stop,
    )


def recorded_settings(settings: RunSettings) -> SearchSettings:
    """Returns the settings of a search as ``run.json`` has them; those that change no result are the defaults.

    :param settings: What ``run.json`` holds.
    """
    given = settings.model_dump(exclude_none=True).keys()
    known = {name: getattr(settings, name) for field in fields(SearchSettings) if (name := field.name) in given}
    limits = Limits(seconds=settings.timeout, memory=settings.memory, unreachable=settings.max_unreachable)
    return SearchSettings(**{**known, "limits": limits})


def repeating_proposer(settings: RunSettings, run: Path, out: Path, *, goes_on: bool = False) -> Proposer:
    """Make the proposer of a run that repeats another one: a language model's answers come from the recording.

    :param settings: How the repeated run was made.
    :param run: The repeated run.
    :param out: The run that repeats it.
    :param goes_on: Whether ``out`` was interrupted and goes on.
    :returns: The proposer.
    :raises ReplayError: If there is no recording, or it is damaged.
    """
    how = _agent_settings(settings)
    name = str(how.pop("model", ""))
    how.pop("connection", None)
    connection = {_REPEATS: str(run.resolve())}
    source = [*([out / EXCHANGES] if goes_on else []), run / EXCHANGES]
    return make_proposer(
        settings.proposer,
        lambda: Recorded(None, out / EXCHANGES, source=source, name=name, connection=connection),
        AgentSettings(**how),
    )


def repeated_run(settings: RunSettings) -> Path | None:
    """Returns the run folder whose recording answers in place of a model; None when a model is asked, or none is.

    :param settings: How a run is made.
    """
    repeats = (_agent_settings(settings).get("connection") or {}).get(_REPEATS)
    return Path(repeats) if repeats else None


def _agent_settings(settings: RunSettings) -> dict[str, Any]:
    how = settings.proposer_settings
    return dict(how.get("agents", {}) if settings.proposer == "both" else how)
