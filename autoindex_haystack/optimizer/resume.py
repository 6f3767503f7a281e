"""Going on with a search that was interrupted, as if it had not been."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from autoindex_haystack.collection import Collection, Split, load_collection, load_split
from autoindex_haystack.errors import AutoIndexError, RunError
from autoindex_haystack.optimizer.events import Listener, Phase, Resumed
from autoindex_haystack.optimizer.replay import recorded_settings, repeated_run, repeating_proposer
from autoindex_haystack.optimizer.search import Search, run_settings, search_evaluator
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.proposers import Proposer, Reporting
from autoindex_haystack.runs import (
    RunFolder,
    RunInfo,
    RunResult,
    installed_versions,
    kept_program,
    read_info,
    read_result,
)
from autoindex_haystack.sandbox import Isolation

_RESUMABLE = 2
"""The format of run folders from which on they can be resumed."""

MakeProposer = Callable[[float], Proposer]
"""Makes a proposer from the seconds that the run has taken."""


def resume(
    run: str | Path,
    *,
    collection: str | Path | Collection | None = None,
    proposer: Proposer | MakeProposer | None = None,
    workers: int = 1,
    jobs: int = 1,
    isolation: Isolation = "full",
    listener: Listener | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> RunResult:
    """Go on with an interrupted search. It ends as it would have ended without the interruption.

    Settings and split are those of the run. What its journal has is not done again: no evaluation is repeated, and no
    call of a language model.

    :param run: The run folder.
    :param collection: The collection or its folder, when it is no longer where it was.
    :param proposer: Who suggests programs, as it was at the beginning, or a function that makes it from the seconds
        that the run has taken; not needed for the built-in proposer, nor for a run that repeats another one. One that
        asks a language model needs a :class:`~autoindex_haystack.llm.Recorded` among whose sources is the file that it
        adds to.
    :param workers: Worker processes.
    :param jobs: Candidates evaluated side by side.
    :param isolation: How programs are isolated.
    :param listener: Called with events, those of what was done before among them.
    :param stop: Asked between steps whether the search shall stop; what is at work is finished before.
    :returns: The result; that of a finished run as it is.
    :raises RunError: If the folder holds no run that can be resumed, or another process is at work on it.
    :raises CollectionError: If the collection cannot be read.
    :raises Interrupted: If ``stop`` said so.

    ```python
    from autoindex_haystack.optimizer import resume

    result = resume("my_run")
    ```
    """
    run = Path(run)
    if is_finished(run):
        return read_result(run)
    info = read_info(run)
    if info.format_version < _RESUMABLE:
        msg = f"{run} was begun with an earlier version, which kept too little to go on; begin a new run"
        raise RunError(msg)
    loaded = _collection(run, info, collection, listener)
    settings = replace(recorded_settings(info.settings), workers=workers, jobs=jobs, isolation=isolation)
    split = load_split(run, loaded)
    first = kept_program(run, info.settings.start) if info.settings.start else None
    with RunFolder.reopen(run) as folder:
        if is_finished(run):
            return read_result(run)  # Another process was quicker.
        who = _proposer(run, info, proposer, folder.seconds)
        if listener:
            listener(Resumed(folder.journal.known, folder.seconds, folder.journal.notes))
        with search_evaluator(loaded, settings, bytes.fromhex(info.id_key), exact=info.exact) as evaluator:
            search = Search(loaded, split, evaluator, who, settings, folder, listener, stop, start=first)
            return search.complete()


def is_resumable(
    run: Path, collection: Collection, split: Split, settings: SearchSettings, proposer: Proposer | None = None
) -> bool:
    """Whether a folder holds just this search, finished or not, begun with the versions that are installed now.

    :param run: The folder; nothing needs to be there.
    :param collection: The collection.
    :param split: The split of its queries.
    :param settings: How the search is done.
    :param proposer: Who suggests programs; the built-in proposer when not given.
    """
    try:
        info, kept = read_info(run), load_split(run, collection)
    except AutoIndexError:
        return False
    who = proposer or _builtin()
    before, now = (
        found.model_copy(update={"proposer_settings": _decisive(found.proposer_settings)})
        for found in (info.settings, run_settings(collection, settings, who))
    )
    versions = info.versions == installed_versions() and info.format_version >= _RESUMABLE
    return versions and info.fingerprint == collection.fingerprint and (kept, before) == (split, now)


def is_finished(run: Path) -> bool:
    """Whether a run has its result.

    :param run: The run folder.
    """
    return (run / "result.json").exists()


def _collection(
    run: Path, info: RunInfo, given: str | Path | Collection | None, listener: Listener | None
) -> Collection:
    if isinstance(given, Collection):
        loaded, place = given, "the given one"
    else:
        where = given or info.collection_path
        if where is None or (given is None and not Path(where).is_dir()):
            there = "was given in memory" if where is None else f"is no longer at {where}"
            msg = f"the collection of {run} {there}; say where it is: `autoindex optimize COLLECTION --resume {run}`"
            raise RunError(msg)
        tell = (lambda done: listener(Phase("reading documents", done))) if listener else None
        loaded, place = load_collection(where, metadata_fields=info.settings.metadata_fields, progress=tell), str(where)
    if loaded.fingerprint != info.fingerprint:
        msg = (
            f"{place} is not the collection that {run} was begun with ({info.collection}), or was changed "
            "since; put the same one there, or say where it is with `autoindex optimize COLLECTION --resume`"
        )
        raise RunError(msg)
    return loaded


def _proposer(run: Path, info: RunInfo, given: Proposer | MakeProposer | None, spent: float) -> Proposer:
    name = info.settings.proposer
    if given is None:
        repeated = repeated_run(info.settings)
        proposer = repeating_proposer(info.settings, repeated, run, goes_on=True) if repeated else _builtin()
    else:
        proposer = given(spent) if callable(given) else given
    if proposer.name != name:
        msg = f"{run} was begun with the proposer {name!r}, not with {proposer.name!r}; give that one"
        raise RunError(msg)
    settings = _decisive(proposer.settings()) if isinstance(proposer, Reporting) else {}
    before = _decisive(info.settings.proposer_settings)
    if others := [key for key in {**settings, **before} if settings.get(key) != before.get(key)]:
        msg = f"{run} was begun with a proposer of other settings ({', '.join(others)}); give them as they were"
        raise RunError(msg)
    return proposer


def _builtin() -> Proposer:
    from autoindex_haystack.proposers.builtin import BuiltinProposer

    return BuiltinProposer()


def _decisive(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a proposer without how its model is reached."""
    return {
        name: _decisive(value) if isinstance(value, Mapping) else value
        for name, value in settings.items()
        if name != "connection"
    }
