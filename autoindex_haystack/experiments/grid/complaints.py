"""What is wrong with the file of an experiment, in one sentence that names the key and what is allowed there."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

_RULE = re.compile(r"^(Input|Tuple) should |, (unable|got) .*")
"""What is not needed of pydantic's message beside the key and the value."""

_WORDS = {
    "a valid tuple": "a list",
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid string": "a text",
    "a valid dictionary": "a table",
    "Input is not a valid path for <class 'pathlib.Path'>": "be a path",
    "have at least 1 item after validation, not 0": "name one at least",
}
"""Pydantic's words, and those of the file's reader."""

_PARTS = {"collections": "collection", "conditions": "condition"}


def complaint(error: ValidationError, data: Mapping[str, Any], models: Mapping[str, type[BaseModel]]) -> str:
    """Say what the first error is.

    :param error: What pydantic found.
    :param data: The file's content.
    :param models: The model of each key that has one; that of the file itself under the empty name.
    :returns: The sentence.
    """
    first = error.errors()[0]
    loc, kind = first["loc"], first["type"]
    place = _place(loc, data)
    keys = [part for part in loc[:-1] if part in models]
    allowed = ", ".join(models[str(keys[-1]) if keys else ""].model_fields)
    match kind:
        case "extra_forbidden":
            return f"{place} is no key here; there are {allowed}"
        case "missing":
            return f"{place} is missing; give it"
        case "model_type":
            model = models[str(next(part for part in reversed(loc) if part in models))]
            return f"{place} must be a table with keys among {', '.join(model.model_fields)}, but is {first['input']!r}"
        case "value_error":
            text = first["msg"].removeprefix("Value error, ")
            return f"{place}: {text}" if place else text
        case _:
            rule = _RULE.sub("", first["msg"])
            for theirs, ours in _WORDS.items():
                rule = rule.replace(theirs, ours)
            return f"{place} must {rule}, but is {first['input']!r}"


def _place(loc: Sequence[int | str], data: Mapping[str, Any]) -> str:
    """The key with what it belongs to, such as ``condition 'mine', agents.condition``."""
    if len(loc) > 1 and loc[0] in _PARTS and isinstance(loc[1], int):
        entry = data[str(loc[0])][loc[1]]
        name = entry.get("name") or entry.get("path") if isinstance(entry, dict) else None
        owner = f"{_PARTS[str(loc[0])]} {name!r}" if isinstance(name, str) else f"{_PARTS[str(loc[0])]} {loc[1] + 1}"
        return ", ".join(filter(None, [owner, ".".join(map(str, loc[2:]))]))
    return ".".join(map(str, loc))
