"""Reading answers as models give them: JSON with prose round it, broken JSON, code with or without fences."""

import json
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from autoindex_haystack.llm import Schema
from autoindex_haystack.program.source import parse

_FENCE = re.compile(r"^[ \t]*```[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_LISTED = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s+(.+)$", re.MULTILINE)
_START = re.compile(r"^(?:import |from |class |def |@|#|\"\"\"|[A-Z_]+\s*=)", re.MULTILINE)
_LONGEST = 400_000
"""Characters of an answer that are looked at."""


class _Answer(BaseModel):
    """Models give more than was asked for, and lists where a text was wanted."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _as_text(cls, value: Any, info: Any) -> Any:
        wanted = cls.model_fields[info.field_name].annotation
        if wanted is str:
            return "; ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
        if isinstance(value, str) and value.strip():
            return [value]
        return value or []


class Idea(_Answer):
    """An idea for a program.

    :param idea: One line that says what the program does.
    :param mechanism: Why BM25 then finds more.
    :param risk: What could get worse.
    """

    idea: str = Field(min_length=1)
    mechanism: str = ""
    risk: str = ""


class Pattern(_Answer):
    """Something that explains several cases, with the evidence."""

    pattern: str = Field(min_length=1)
    evidence: list[str] = []


class Recommendation(_Answer):
    """A change that the analysis agent recommends."""

    change: str = Field(min_length=1)
    why: str = ""
    risk: str = ""


class Summary(_Answer):
    """The analysis agent's report."""

    patterns: list[Pattern] = []
    works: list[str] = []
    recommendations: list[Recommendation] = []

    def text(self) -> str:
        """Returns the report as the code agent reads it."""
        lines = ["Patterns:"]
        for found in self.patterns:
            lines += [f"- {found.pattern}", *(f"  - {evidence}" for evidence in found.evidence)]
        lines += ["What works and must be preserved:", *(f"- {works}" for works in self.works), "Recommendations:"]
        for number, advice in enumerate(self.recommendations, start=1):
            lines.append(f"{number}. {advice.change}")
            lines += [f"   {name}: {said}" for name, said in (("why", advice.why), ("risk", advice.risk)) if said]
        return "\n".join(lines)


def _object(**properties: object) -> dict[str, object]:
    """A JSON schema as strict endpoints want it."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}

SUMMARY = Schema(
    "summary",
    _object(
        patterns={"type": "array", "items": _object(pattern=_TEXT, evidence=_TEXTS)},
        works=_TEXTS,
        recommendations={"type": "array", "items": _object(change=_TEXT, why=_TEXT, risk=_TEXT)},
    ),
)
"""The form of a report."""

IDEAS = Schema("ideas", _object(ideas={"type": "array", "items": _object(idea=_TEXT, mechanism=_TEXT, risk=_TEXT)}))
"""The form of ideas."""


def read_summary(text: str) -> str | None:
    """Read the analysis agent's report.

    :param text: Its answer.
    :returns: The report; None when the answer has not its form.
    """
    for value in json_values(text):
        try:
            summary = Summary.model_validate(value)
        except ValidationError:
            continue
        if summary.patterns or summary.recommendations:
            return summary.text()
    return None


def read_ideas(text: str, number: int) -> list[Idea]:
    """Read ideas.

    :param text: The answer.
    :param number: How many are wanted at most.
    :returns: The ideas, each once; those of a plain list when there is no JSON.
    """
    found: list[Idea] = []
    for value in json_values(text):
        # Strings are ideas only under that name: prose may hold brackets too.
        listed = value.get("ideas", [value]) if isinstance(value, dict) else value
        if not isinstance(listed, list):
            continue
        named = [{"idea": entry} for entry in listed if isinstance(entry, str)] if isinstance(value, dict) else []
        for entry in named or listed:
            with suppress(ValidationError):
                found.append(Idea.model_validate(entry))
        if found:
            break
    if not found:
        found = [Idea(idea=said.strip(" *")) for said in _LISTED.findall(text[:_LONGEST]) if said.strip(" *")]
    return list({idea.idea: idea for idea in found}.values())[:number]


def read_program(text: str) -> str | None:
    """Read a program.

    :param text: The answer.
    :returns: Its source; None when the answer has none. A program that was cut off is returned as far as it goes.
    """
    blocks = [body for _, body in _FENCE.findall(text[:_LONGEST])]
    named = [b for b in blocks if "class Preprocessor" in b] or [b for b in blocks if "def preprocess" in b]
    if named:
        # Models that correct themselves give the better program last.
        return _ended(max(named, key=lambda block: (_parses(block), named.index(block))))
    for value in json_values(text):
        if isinstance(value, dict):
            for entry in value.values():
                if isinstance(entry, str) and "class Preprocessor" in entry:
                    return _ended(entry)
    return _without_prose(text[:_LONGEST])


def json_values(text: str) -> Iterator[Any]:
    """Find the JSON values that an answer may stand for.

    :param text: The answer, with or without prose and fences.
    :returns: The values, the likeliest first; broken JSON is mended.
    """
    import json_repair

    text = text[:_LONGEST]
    parts = [*(body for name, body in _FENCE.findall(text) if name.lower() in ("", "json", "json5")), text]
    for part in parts:
        starts = [i for i in (part.find("{"), part.find("[")) if i >= 0]
        if not starts:
            continue
        with suppress(ValueError, RecursionError):
            # Whole JSON, whatever stands before and after it.
            yield json.JSONDecoder().raw_decode(part, min(starts))[0]
        with suppress(ValueError, RecursionError):
            value = json_repair.loads(part[min(starts) :])
            yield value
            # Several values in one text come as a list.
            yield from value if isinstance(value, list) else ()


def _without_prose(text: str) -> str | None:
    """A program without fences, with the prose before and after it cut off."""
    start = _START.search(text)
    if start is None or "class Preprocessor" not in text:
        return None
    lines = text[start.start() :].splitlines()
    for end in range(len(lines), max(0, len(lines) - 40), -1):
        source = "\n".join(lines[:end])
        if "class Preprocessor" in source and _parses(source):
            return _ended(source)
    return _ended("\n".join(lines))


def _parses(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _ended(source: str) -> str:
    return source.strip("\n") + "\n"
