"""What an experiment is made of, as its TOML file says."""

import itertools
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from autoindex_haystack.errors import RunError
from autoindex_haystack.evaluation.evaluate import BUILTIN_PREFIX
from autoindex_haystack.experiments.grid.complaints import complaint
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.program import BUILTIN_NAMES
from autoindex_haystack.proposers.agents.settings import AgentSettings
from autoindex_haystack.retrieval import FOR_EVALUATION, BM25Settings, retriever_names

_OWN_SETTINGS = ("seed", "bm25", "backend", "limits", "workers", "jobs", "isolation", "allowed_imports")
"""Search settings that are not a condition's: they belong to the cell, to the experiment or to the machine."""

SEARCH_SETTINGS = tuple(field.name for field in fields(SearchSettings) if field.name not in _OWN_SETTINGS)
"""Settings of a search that a condition may fix."""


class CollectionSpec(BaseModel):
    """A collection of the experiment.

    :param path: Its folder, relative to the experiment's file.
    :param name: Its name in tables; that of the folder when not given.
    :param split: The file of its split, which then holds for all split seeds.
    :param metadata_fields: Metadata fields that programs may see.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path
    name: str = ""
    split: Path | None = None
    metadata_fields: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name in tables."""
        return self.name or self.path.resolve().name


class Condition(BaseModel):
    """One way to represent documents: a fixed program, or a search for one.

    :param name: Its name in tables.
    :param program: ``builtin:NAME``, a Python file or a frozen component; no search then.
    :param proposer: Who proposes in a search.
    :param model: The language model that the agents ask.
    :param base_url: Its endpoint.
    :param api_key_env: The environment variable with its key.
    :param agents: How the agents work, by the names of :class:`AgentSettings`.
    :param search: Settings of the search by name, such as ``iterations``; the others have their defaults.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    program: str | None = None
    proposer: Literal["builtin", "agents", "both"] = "builtin"
    model: str | None = None
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    agents: AgentSettings = AgentSettings()
    search: dict[str, Any] = Field(default_factory=dict)

    @field_validator("search")
    @classmethod
    def _known(cls, value: dict[str, Any]) -> dict[str, Any]:
        if unknown := sorted(set(value) - set(SEARCH_SETTINGS)):
            msg = f"{unknown[0]!r} is no setting of a search; there are {', '.join(SEARCH_SETTINGS)}"
            raise ValueError(msg)
        SearchSettings(**value)
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.program and (self.search or self.model or self.proposer != "builtin"):
            msg = f"condition {self.name!r} has a program, so it has no proposer, model or search settings"
            raise ValueError(msg)
        if self.proposer == "builtin" and (self.model or self.base_url or self.agents != AgentSettings()):
            msg = f"condition {self.name!r} has the built-in proposer, so model, base_url and agents mean nothing there"
            raise ValueError(msg)
        if self.program and self.program.startswith(BUILTIN_PREFIX):
            known = [BUILTIN_PREFIX + name for name in BUILTIN_NAMES]
            if self.program not in known:
                msg = f"condition {self.name!r}: there is no {self.program}; there are {', '.join(known)}"
                raise ValueError(msg)
        if self.proposer != "builtin" and not self.model:
            msg = f"condition {self.name!r} asks a language model; name it with model"
            raise ValueError(msg)
        return self


class ExperimentSpec(BaseModel):
    """An experiment.

    :param name: Its name.
    :param collections: The collections.
    :param conditions: The conditions.
    :param seeds: Seeds of the searches; fixed programs have none.
    :param split_seeds: Seeds of the splits.
    :param backend: The retrieval engine.
    :param bm25: Its settings.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    collections: tuple[CollectionSpec, ...] = Field(min_length=1)
    conditions: tuple[Condition, ...] = Field(min_length=1)
    seeds: tuple[int, ...] = Field(default=(0,), min_length=1)
    split_seeds: tuple[int, ...] = Field(default=(0,), min_length=1)
    backend: str = "bm25s"
    bm25: BM25Settings = BM25Settings()

    @field_validator("seeds", "split_seeds")
    @classmethod
    def _different_seeds(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seeds)) < len(seeds):
            msg = f"a seed stands twice in {list(seeds)}; name each once"
            raise ValueError(msg)
        return seeds

    @model_validator(mode="after")
    def _known_backend(self) -> Self:
        kind = self.backend.partition(":")[0]
        if kind not in retriever_names():
            msg = f"backend must be one of {', '.join(retriever_names())}, but is {self.backend!r}"
            raise ValueError(msg)
        searching = next((condition.name for condition in self.conditions if not condition.program), None)
        if kind in FOR_EVALUATION and searching:
            msg = (
                f"backend {self.backend!r} goes with programs alone, but condition {searching!r} is a search, and "
                "programs are learned for BM25"
            )
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _different_names(self) -> Self:
        labels = [collection.label for collection in self.collections], [c.name for c in self.conditions]
        for names in labels:
            if repeated := next((name for name in names if names.count(name) > 1), None):
                msg = f"the name {repeated!r} stands twice; give each collection and condition a name of its own"
                raise ValueError(msg)
        return self


_MODELS: dict[str, type[BaseModel]] = {
    "": ExperimentSpec,
    "collections": CollectionSpec,
    "conditions": Condition,
    "agents": AgentSettings,
    "bm25": BM25Settings,
}


def read_spec(path: Path) -> ExperimentSpec:
    """Read an experiment.

    A condition with a list for ``proposer`` or for a search setting stands for all combinations of what is listed.

    :param path: The TOML file; paths in it are relative to its folder.
    :returns: The experiment.
    :raises RunError: If the file cannot be used; the message names the entry.
    """
    try:
        with path.open("rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror}); give the file of an experiment"
        raise RunError(msg) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path} is no TOML ({error}); mend the file"
        raise RunError(msg) from error
    try:
        data.setdefault("name", path.stem)
        if isinstance(data.get("conditions"), list):
            data["conditions"] = [one for condition in data["conditions"] for one in _expanded(condition)]
        spec = ExperimentSpec.model_validate(data)
    except ValidationError as error:
        msg = f"{path}: {complaint(error, data, _MODELS)}"
        raise RunError(msg) from error
    folder = path.resolve().parent
    return spec.model_copy(
        update={
            "collections": tuple(_placed(one, folder) for one in spec.collections),
            "conditions": tuple(_found(one, folder) for one in spec.conditions),
        }
    )


def check_places(spec: ExperimentSpec) -> None:
    """See that what an experiment names is there, before its first cell is run.

    :param spec: The experiment.
    :raises RunError: If a collection or a split is missing.
    """
    for collection in spec.collections:
        if not collection.path.is_dir():
            msg = f"collection {collection.label!r}: path {collection.path} is no folder; name that of a collection"
            raise RunError(msg)
        if collection.split and not collection.split.exists():
            msg = f"collection {collection.label!r}: split {collection.split} does not exist; see `autoindex split`"
            raise RunError(msg)


def _expanded(condition: Any) -> Iterator[Any]:
    """All combinations of what a condition lists, each with a name of its own."""
    if not isinstance(condition, dict):
        yield condition
        return
    search = condition.get("search", {})
    search = search if isinstance(search, dict) else {}
    choices = {("search", name): value for name, value in search.items() if isinstance(value, list)}
    if isinstance(condition.get("proposer"), list):
        choices = {("proposer", ""): condition["proposer"], **choices}
    if empty := next((name or part for (part, name), value in choices.items() if not value), None):
        msg = f"condition {condition.get('name')!r}: the list of {empty} is empty"
        raise RunError(msg)
    for values in itertools.product(*choices.values()):
        made = {**condition, "search": dict(search)} if search else dict(condition)
        for (part, name), value in zip(choices, values, strict=True):
            if name:
                made[part][name] = value
            else:
                made[part] = value
        named = values and isinstance(condition.get("name"), str)
        yield {**made, "name": "/".join([condition["name"], *map(str, values)])} if named else made


def _placed(collection: CollectionSpec, folder: Path) -> CollectionSpec:
    split = folder / collection.split if collection.split else None
    return collection.model_copy(update={"path": folder / collection.path, "split": split})


def _found(condition: Condition, folder: Path) -> Condition:
    if condition.program is None or condition.program.startswith(BUILTIN_PREFIX):
        return condition
    path = folder / condition.program
    if not path.exists():
        msg = f"condition {condition.name!r}: {path} does not exist; give a program or builtin:NAME"
        raise RunError(msg)
    return condition.model_copy(update={"program": str(path)})
