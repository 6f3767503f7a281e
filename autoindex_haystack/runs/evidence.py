"""The evidence of a run: which relevant documents were missed under a program and why, and what was made of it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from autoindex_haystack.collection import Split
from autoindex_haystack.errors import RunError
from autoindex_haystack.evaluation.diagnosis import Diagnosis
from autoindex_haystack.evaluation.objective import Objective, objective_value
from autoindex_haystack.files import atomic_file
from autoindex_haystack.runs.folder import read_info, read_result
from autoindex_haystack.runs.journal import read_journal

FOLDER = "evidence"


class MissedDocument(BaseModel):
    """A relevant document that is missed, and why.

    :param reason: One of :class:`autoindex_haystack.evaluation.diagnosis.Reason`.
    :param explanation: One line with the figures that show it.
    :param rank: Its rank; None when it is not retrieved.
    :param score: Its score.
    """

    model_config = ConfigDict(extra="forbid")

    query_id: str
    doc_id: str
    reason: str
    explanation: str
    rank: int | None
    score: float


class ProgramEvidence(BaseModel):
    """The file ``evidence/<sha256>.json``: the validation queries under one program.

    :param relevant: How many relevant documents there are.
    :param missed: Those that are not among the first 100.
    """

    model_config = ConfigDict(extra="forbid")

    program_sha256: str
    relevant: int
    missed: list[MissedDocument]

    @classmethod
    def of(cls, program_sha256: str, diagnosis: Diagnosis) -> "ProgramEvidence":
        """Ask a diagnosis for everything that is missed."""
        missed = [
            MissedDocument(
                query_id=miss.query_id,
                doc_id=miss.doc_id,
                reason=str(miss.reason),
                explanation=miss.explanation,
                rank=miss.figures["rank"],
                score=miss.figures["score"],
            )
            for miss in diagnosis.misses()
        ]
        return cls(program_sha256=program_sha256, relevant=diagnosis.relevant, missed=missed)

    @staticmethod
    def is_known(run: Path, program_sha256: str) -> bool:
        """Whether a run folder has it.

        :param run: The run folder.
        :param program_sha256: The program's hash.
        """
        return (run / FOLDER / f"{program_sha256}.json").exists()

    def save(self, run: Path) -> None:
        """Write it into a run folder, once.

        :param run: The run folder.
        """
        if not self.is_known(run, self.program_sha256):
            with atomic_file(run / FOLDER / f"{self.program_sha256}.json") as temporary:
                temporary.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")

    @property
    def reasons(self) -> dict[str, int]:
        """How many documents are missed for each reason, the most frequent first."""
        return dict(Counter(miss.reason for miss in self.missed).most_common())


class TransformStory(BaseModel):
    """What was expected of a transform and what came of it.

    :param reached: Missed documents that it was forecast to bring in, with its most promising parameters; None where it
        was not forecast.
    :param lost: Found ones that it was forecast to drop.
    :param forecast: The forecast change of the mean objective.
    :param tried: How many candidates changed this transform alone.
    :param best: The best change of the objective among them, against the incumbent of their round.
    :param in_bundles: How many candidates changed it together with others.
    :param left_out: How many candidates were the incumbent without it.
    :param adopted: Whether an adopted candidate had added it.
    :param refused: Why the best of those that helped was not adopted; empty when none helped.
    """

    transform: str
    reached: float | None = None
    lost: float | None = None
    forecast: float | None = None
    tried: int = 0
    best: float | None = None
    in_bundles: int = 0
    left_out: int = 0
    adopted: bool = False
    refused: str = ""


class RunStory(BaseModel):
    """What ``autoindex explain RUN`` tells.

    :param objective: What the search maximized.
    :param queries: The validation queries.
    :param held_out: The held-out queries, of which nothing is told.
    :param baseline: What the baseline missed.
    :param learned: What the learned program misses.
    :param transforms: Every transform that was thought of, those that were forecast to reach the most first.
    :param adopted: Iteration, idea and change of the objective of each adopted program.
    """

    objective: Objective
    queries: list[str]
    held_out: list[str]
    baseline: ProgramEvidence
    learned: ProgramEvidence
    transforms: list[TransformStory]
    adopted: list[tuple[int, str, float]]


def tell(run: Path) -> RunStory:
    """Read what a finished run found out.

    :param run: The run folder.
    :returns: The story.
    :raises RunError: If the folder holds no finished run with evidence.
    """
    result = read_result(run)
    records = list(read_journal(run))
    baseline = next((record["program"] for record in records if record["record"] == "evaluation"), "")
    objective = read_info(run).settings.objective
    transforms, adopted = _walk(records, objective)
    split = _split(run)
    return RunStory(
        objective=objective,
        queries=list(split.validation),
        held_out=list(split.held_out),
        baseline=_read(run, baseline),
        learned=_read(run, result.program_sha256),
        transforms=transforms,
        adopted=adopted,
    )


def _split(run: Path) -> Split:
    path = run / "split.json"
    try:
        return Split.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        msg = f"{path} cannot be read ({error})"
        raise RunError(msg) from error


def _read(run: Path, program: str) -> ProgramEvidence:
    path = run / FOLDER / f"{program}.json"
    try:
        return ProgramEvidence.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        msg = f"{run} holds no evidence of program {program[:12]}; run the search again with this version"
        raise RunError(msg) from error


def _walk(
    records: list[dict[str, Any]], maximized: Objective
) -> tuple[list[TransformStory], list[tuple[int, str, float]]]:
    """Follow the journal: forecasts, candidates, their figures, decisions."""
    objective = {r["program"]: objective_value(r["metrics"], maximized) for r in records if r["record"] == "evaluation"}
    stories: dict[str, TransformStory] = {}
    adopted: list[tuple[int, str, float]] = []
    plans: dict[str, dict[str, Any]] = {}
    candidates: dict[str, dict[str, Any]] = {}
    incumbent = next(iter(objective.values()), 0.0)
    for record in records:
        match record["record"]:
            case "evidence":
                for plan in record.get("forecasts", ()):
                    plans[plan["idea"]] = plan
                    _expect(stories, plan, maximized)
            case "candidate":
                candidates[record["program"]] = record
                gain = objective[record["program"]] - incumbent if record["program"] in objective else None
                _count(stories, plans.get(record["idea"]), gain)
            case "decision":
                # The best stands first; what is said of it stays.
                for verdict in reversed([v for v in record.get("verdicts", ()) if not v["accepted"]]):
                    plan = plans.get(candidates[verdict["program"]]["idea"])
                    if plan and plan["kind"] == "addition":
                        stories[plan["transforms"][-1]].refused = verdict["reason"]
                if not record["adopted"]:
                    continue
                chosen = candidates[record["adopted"]]
                gain = objective[record["adopted"]] - incumbent
                incumbent = objective[record["adopted"]]
                adopted.append((record["iteration"], chosen["idea"], gain))
                for name in _added(chosen, candidates, plans):
                    stories.setdefault(name, TransformStory(transform=name)).adopted = True
    ordered = sorted(stories.values(), key=lambda story: (-(story.reached or 0.0), -story.tried, story.transform))
    return ordered, adopted


def _expect(stories: dict[str, TransformStory], plan: dict[str, Any], maximized: Objective) -> None:
    """Note what a transform alone was forecast to do at first, with its most promising parameters."""
    if plan["kind"] != "addition":
        return
    [name] = plan["transforms"][-1:]
    story = stories.setdefault(name, TransformStory(transform=name))
    if found := plan.get("forecast"):
        value = objective_value({"recall@100": found["recall"], "ndcg@10": found["ndcg"]}, maximized)
        if story.forecast is None or value > story.forecast:
            story.reached, story.lost, story.forecast = found["reached"], found["lost"], value


def _count(stories: dict[str, TransformStory], plan: dict[str, Any] | None, gain: float | None) -> None:
    if plan is None:
        return
    for name in plan["transforms"]:
        story = stories.setdefault(name, TransformStory(transform=name))
        if plan["kind"] == "ablation":
            story.left_out += 1
        elif plan["kind"] == "bundle":
            story.in_bundles += 1
        else:
            story.tried += 1
            story.best = gain if story.best is None or (gain is not None and gain > story.best) else story.best


def _added(
    chosen: dict[str, Any], candidates: dict[str, dict[str, Any]], plans: dict[str, dict[str, Any]]
) -> Iterator[str]:
    """The transforms that an adopted candidate added; a combination has those of its parts."""
    parts = (
        [candidates[parent] for parent in chosen["parents"] if parent in candidates] if chosen["combined"] else [chosen]
    )
    for part in parts:
        plan = plans.get(part["idea"])
        if plan and plan["kind"] != "ablation":
            yield from plan["transforms"]
