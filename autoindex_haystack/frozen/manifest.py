"""What ``manifest.json`` of a frozen component says."""

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from autoindex_haystack.retrieval import BM25Settings

FORMAT_VERSION = 1


class ComponentSettings(BaseModel):
    """The settings that belong to the component, because another value would give other chunks or scores.

    :param bm25: BM25 parameters and analyzer.
    :param metadata_fields: The metadata fields that the program sees beside the title.
    :param allowed_imports: Modules that the program may import beside the usual ones.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    bm25: BM25Settings = Field(default_factory=BM25Settings)
    metadata_fields: tuple[str, ...] = ()
    allowed_imports: tuple[str, ...] = ()


class LearnedOn(BaseModel):
    """The collection on which a program was chosen."""

    model_config = ConfigDict(extra="forbid")

    name: str
    fingerprint: str
    documents: int
    validation_queries: int
    held_out_queries: int
    split_seed: int | None = None
    synthetic: str = ""


class Step(BaseModel):
    """One adopted program on the way from the baseline to the frozen one."""

    model_config = ConfigDict(extra="forbid")

    iteration: int
    program_sha256: str
    idea: str
    gain: float


class Figures(BaseModel):
    """Means over queries, by metric."""

    model_config = ConfigDict(extra="forbid")

    validation: dict[str, float] = Field(default_factory=dict)
    held_out: dict[str, float] = Field(default_factory=dict)


class Gain(BaseModel):
    """What a search gained in its objective over the baseline, and what that is worth.

    :param objective: What was maximized.
    :param acceptance: The rule by which programs were adopted.
    :param detectable: Stated before the search: the true gain that the validation queries would show in four of five
        runs; None when they can show none.
    :param validation: The gain on the validation queries, with which the program was chosen.
    :param corrected: That gain without the luck of having been chosen.
    :param held_out: The gain on the held-out queries.
    :param low: Lower end of its 95 % interval.
    :param high: Upper end.
    :param p_value: Two-sided p-value of the paired t-test on the held-out queries.
    :param p_sign_flip: The same of the paired permutation test.
    """

    model_config = ConfigDict(extra="forbid")

    objective: str
    acceptance: str
    detectable: float | None
    validation: float
    corrected: float
    held_out: float
    low: float
    high: float
    p_value: float
    p_sign_flip: float


class Manifest(BaseModel):
    """The manifest of a frozen component.

    :param sha256: The component's hash: program, state and settings together.
    :param program_sha256: The hash of ``program.py``.
    :param state_sha256: The hash of ``state.json``, if there is one.
    :param learned_on: Where the program was chosen; None for a program that was frozen as given.
    :param gain: What the search gained in its objective; None for a program that was frozen as given.
    :param intervals: 95 % intervals of the held-out differences, learned minus baseline, by metric.
    :param lineage: The adopted programs, oldest first.
    :param isolation: The layers under which programs ran.
    """

    model_config = ConfigDict(extra="forbid")

    format_version: int = FORMAT_VERSION
    sha256: str
    program_sha256: str
    state_sha256: str | None = None
    settings: ComponentSettings
    learned_on: LearnedOn | None = None
    baseline: Figures = Field(default_factory=Figures)
    learned: Figures = Field(default_factory=Figures)
    gain: Gain | None = None
    intervals: dict[str, tuple[float, float]] = Field(default_factory=dict)
    lineage: list[Step] = Field(default_factory=list)
    versions: dict[str, str] = Field(default_factory=dict)
    isolation: list[str] = Field(default_factory=list)


def sha256_hex(data: bytes) -> str:
    """Returns the sha256 of some bytes as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def component_sha256(program_sha256: str, state_sha256: str | None, settings: ComponentSettings) -> str:
    """Returns the hash that a component is pinned by.

    :param program_sha256: The program's hash.
    :param state_sha256: The state's hash, if there is a state.
    :param settings: The component's settings.
    """
    parts = {"program": program_sha256, "state": state_sha256, "settings": settings.model_dump(mode="json")}
    return sha256_hex(canonical_json(parts))


def canonical_json(value: Any) -> bytes:
    """Returns JSON bytes that are the same for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
