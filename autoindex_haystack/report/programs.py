"""The programs of a run in the order in which they were tried, each with what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from autoindex_haystack.errors import RunError
from autoindex_haystack.evaluation.metrics import PerQuery
from autoindex_haystack.evaluation.objective import Objective, objective_value
from autoindex_haystack.runs import START, candidate_label, kept_program, read_info, read_journal

Fate = Literal["baseline", "adopted", "not adopted", "no better", "dropped", "failed"]
"""What became of a program. Those ``not adopted`` gained, but another one gained more or the rule of acceptance refused
them; ``dropped`` ones were estimated on a part of the corpus."""


@dataclass(frozen=True)
class Tried:
    """A program that was tried, or the baseline.

    :param label: How people call it: ``baseline``, ``start``, or iteration and number such as ``3.2``.
    :param sha256: Its hash.
    :param iteration: The iteration; 0 for the baseline.
    :param idea: What it does differently.
    :param rationale: Why that was thought to help.
    :param parents: Hashes of the programs that it was made of, the most important first.
    :param fate: What became of it.
    :param reason: Why it was not adopted, was dropped or failed; empty otherwise.
    :param value: Its objective on the validation queries, of a dropped one as estimated; None when it failed.
    :param gain: The same against the baseline.
    :param metrics: Its means on the validation queries; empty when it was not evaluated on the whole corpus.
    :param scores: The same by query.
    :param growth: Bytes of its chunks relative to the corpus.
    :param chunks: Its chunks.
    :param seconds: Time to evaluate it.
    :param source: Its source.
    """

    label: str
    sha256: str
    iteration: int
    idea: str = ""
    rationale: str = ""
    parents: tuple[str, ...] = ()
    fate: Fate = "no better"
    reason: str = ""
    value: float | None = None
    gain: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    scores: PerQuery = field(default_factory=dict)
    growth: float | None = None
    chunks: int | None = None
    seconds: float | None = None
    source: str = ""


def read_programs(run: Path, objective: Objective) -> list[Tried]:
    """Read what was tried in a run.

    :param run: The run folder.
    :param objective: What the search maximized.
    :returns: The baseline and then each candidate; one that was suggested twice stands there twice.
    :raises RunError: If the folder has no journal, or a program is missing or was changed.
    """
    records = list(read_journal(run))
    evaluations = {r["program"]: r for r in records if r["record"] == "evaluation"}
    if not evaluations:
        msg = f"{run} holds no evaluated program; give the folder of a finished `autoindex optimize`"
        raise RunError(msg)
    first = next(iter(evaluations.values()))
    base = objective_value(first["metrics"], objective)
    baseline = {"label": "baseline", "sha256": first["program"], "iteration": 0, "fate": "baseline"}
    programs = [_evaluated(first, objective, base) | baseline | {"idea": "the whole document"}]
    begun = evaluations.get(read_info(run).settings.start or "", first)
    if begun is not first:
        # The first incumbent is no candidate of anybody.
        start = {"label": "start", "sha256": begun["program"], "iteration": 0, "fate": "adopted"}
        start |= {"idea": START, "parents": (first["program"],)}
        programs.append(_evaluated(begun, objective, base) | start)
    found = _Records(records, evaluations, objective, base, objective_value(begun["metrics"], objective))
    sources = {
        sha256: kept_program(run, sha256).source for sha256 in {p["sha256"] for p in programs} | found.candidates
    }
    programs += [found.candidate(r) for r in records if r["record"] == "candidate"]
    return [Tried(**program, source=sources[program["sha256"]]) for program in programs]


class _Records:
    """The records of a journal by what they tell of a candidate."""

    def __init__(
        self,
        records: Sequence[dict[str, Any]],
        evaluations: Mapping[str, Any],
        objective: Objective,
        base: float,
        begun: float,
    ) -> None:
        self._evaluations, self._objective, self._base, self._begun = evaluations, objective, base, begun
        self._dropped = {r["program"]: r for r in records if r["record"] == "dropped"}
        self._failures = {r["program"]: r["error"] for r in records if r["record"] == "failure"}
        decisions = [r for r in records if r["record"] == "decision"]
        self._adopted = {(r["iteration"], r["adopted"]) for r in decisions}
        self._passed_over = {
            (r["iteration"], verdict["program"]): verdict["reason"] or "another one was better"
            for r in decisions
            for verdict in r.get("verdicts", ())
        }
        self._incumbents = self._objectives_at_start(decisions)
        self.candidates = {r["program"] for r in records if r["record"] == "candidate"}

    def candidate(self, record: dict[str, Any]) -> dict[str, Any]:
        """What is known of a candidate."""
        sha256, key = record["program"], (record["iteration"], record["program"])
        known: dict[str, Any] = {
            "label": candidate_label(record),
            "sha256": sha256,
            "iteration": record["iteration"],
            "idea": record["idea"],
            "rationale": record["rationale"],
            "parents": tuple(record["parents"]),
        }
        # A program can pass its evaluation and fail when it is run again before it is adopted.
        if sha256 in self._failures:
            return known | {"fate": "failed", "reason": self._failures[sha256]}
        if sha256 in self._evaluations:
            return known | _evaluated(self._evaluations[sha256], self._objective, self._base) | self._fate(key)
        if sha256 in self._dropped:
            return known | self._estimate(record["iteration"], self._dropped[sha256])
        return known | {"fate": "failed", "reason": "the search ended before it was evaluated"}

    def _fate(self, key: tuple[int, str]) -> dict[str, Any]:
        if key in self._adopted:
            return {"fate": "adopted"}
        if key in self._passed_over:
            return {"fate": "not adopted", "reason": self._passed_over[key]}
        return {"fate": "no better"}

    def _estimate(self, iteration: int, dropped: dict[str, Any]) -> dict[str, Any]:
        """A dropped candidate's gain was estimated against the incumbent of its round."""
        value = self._incumbents.get(iteration, self._base) + dropped["gain"]
        known = "sure not to gain enough" if dropped["certain"] else f"estimated to gain {dropped['gain']:+.4f}"
        reason = f"{known} after {dropped['documents']:,} documents"
        return {"fate": "dropped", "reason": reason, "value": value, "gain": value - self._base}

    def _objectives_at_start(self, decisions: Sequence[dict[str, Any]]) -> dict[int, float]:
        """The incumbent's objective when an iteration began."""
        known, value = {1: self._begun}, self._begun
        for decision in decisions:
            if decision["adopted"] in self._evaluations:
                value = objective_value(self._evaluations[decision["adopted"]]["metrics"], self._objective)
            known[decision["iteration"] + 1] = value
        return known


def _evaluated(record: dict[str, Any], objective: Objective, base: float) -> dict[str, Any]:
    value = objective_value(record["metrics"], objective)
    return {
        "value": value,
        "gain": value - base,
        "metrics": record["metrics"],
        "scores": record["scores"],
        "growth": record["growth"],
        "chunks": record["chunks"],
        "seconds": sum(record["seconds"].values()),
    }
