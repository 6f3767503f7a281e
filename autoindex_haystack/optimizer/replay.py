"""Repeating a run: the same settings, split and proposer, and a language model's answers from the recording."""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from autoindex_haystack.collection import load_collection
from autoindex_haystack.errors import RunError
from autoindex_haystack.llm import EXCHANGES, Recorded
from autoindex_haystack.optimizer.events import Listener, Phase
from autoindex_haystack.optimizer.search import optimize
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.proposers import Proposer
from autoindex_haystack.proposers.agents import AgentSettings
from autoindex_haystack.proposers.factory import make_proposer
from autoindex_haystack.runs import RunResult, RunSettings, kept_program, read_info
from autoindex_haystack.sandbox import Isolation, Limits


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
    info = read_info(run)
    tell = (lambda done: listener(Phase("reading documents", done))) if listener else None
    loaded = load_collection(collection, metadata_fields=info.settings.metadata_fields, progress=tell)
    if loaded.fingerprint != info.fingerprint:
        msg = f"{run} was made with another collection than {collection} is now ({info.collection}); give that one"
        raise RunError(msg)
    return optimize(
        loaded,
        out,
        settings=replace(recorded_settings(info.settings), workers=workers, jobs=jobs, isolation=isolation),
        proposer=_proposer(info.settings, run, out),
        split=run,
        start=kept_program(run, info.settings.start) if info.settings.start else None,
        force=force,
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


def _proposer(settings: RunSettings, run: Path, out: Path) -> Proposer:
    how: dict[str, Any] = dict(settings.proposer_settings)
    if settings.proposer == "both":
        how = dict(how["agents"])
    name = str(how.pop("model", ""))
    how.pop("connection", None)
    return make_proposer(
        settings.proposer,
        lambda: Recorded(None, out / EXCHANGES, source=run / EXCHANGES, name=name),
        AgentSettings(**how),
    )
