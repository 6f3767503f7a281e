"""Keeping secrets out of everything that is written, shown or sent on."""

import json
from collections.abc import Iterable
from typing import Any

REMOVED = "[secret removed]"

_SHORTEST = 8
"""Shorter keys are placeholders such as ``none``; to remove them would spoil texts."""


class Redactor:
    """Replaces secrets in texts.

    :param secrets: What must not be seen; those shorter than 8 characters are no secrets.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # Also as they stand in JSON, such as the arguments of a tool call; the longest first, as one may hold another.
        forms = {form for s in secrets if len(s) >= _SHORTEST for form in (s, json.dumps(s)[1:-1])}
        self._secrets = sorted(forms, key=len, reverse=True)

    def text(self, text: str) -> str:
        """Returns the text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, REMOVED)
        return text

    def json(self, value: Any) -> Any:
        """Returns a JSON value without secrets."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(name): self.json(part) for name, part in value.items()}
            case list():
                return [self.json(part) for part in value]
            case _:
                return value
