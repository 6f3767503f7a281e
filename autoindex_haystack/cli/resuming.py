"""The proposer of a run that goes on, made anew from its settings and the user's words."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from autoindex_haystack.cli.model import REACHING, given
from autoindex_haystack.errors import RunError

if TYPE_CHECKING:
    from autoindex_haystack.llm.connect import ModelOptions
    from autoindex_haystack.proposers import Proposer


def proposer_again(run: Path, model: "ModelOptions") -> "Callable[[float], Proposer] | None":
    """Say how the proposer of a run is made again.

    :param run: The run folder.
    :param model: What the user says now of how its model is reached.
    :returns: A function from the seconds that the run has taken to the proposer; None where none has to be given.
    :raises RunError: If the folder holds no run, or one whose proposer cannot be made here.
    """
    from autoindex_haystack.llm import EXCHANGES
    from autoindex_haystack.llm.connect import ModelOptions, connect
    from autoindex_haystack.optimizer.replay import repeated_run
    from autoindex_haystack.proposers.agents import AgentSettings
    from autoindex_haystack.proposers.factory import PROPOSERS, make_proposer
    from autoindex_haystack.runs import read_info

    settings = read_info(run).settings
    name, how = settings.proposer, dict(settings.proposer_settings)
    if name == "builtin" or repeated_run(settings):
        return None
    how = dict(how.get("agents", {})) if name == "both" else how
    connection = how.pop("connection", None)
    how.pop("model", None)
    if name not in PROPOSERS or connection is None:
        why = "does not say how its model is reached" if name in PROPOSERS else f"has a proposer of its own, {name!r}"
        msg = f"{run} {why}, so that it cannot be resumed from here; resume it from Python"
        raise RunError(msg)
    named = {option.removeprefix("--").replace("-", "_") for option in given(REACHING)}
    fields = {name: name for name in REACHING} | {"llm_timeout": "timeout"}
    now = {field: getattr(model, field) for name, field in fields.items() if name in named}
    options = replace(ModelOptions.from_json(connection), **now)
    return lambda spent: make_proposer(
        name,
        lambda: connect(options, run / EXCHANGES, source=run / EXCHANGES, spent=spent),
        AgentSettings(**how),
    )
