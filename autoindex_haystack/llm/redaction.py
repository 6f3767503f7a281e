"""Keeping secrets out of everything that is written, shown or sent on."""

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote, urlsplit

REMOVED = "[secret removed]"

_SHORTEST = 8
"""Shorter keys are placeholders such as ``none``; to remove them would spoil texts."""


_TELLING = re.compile(r"key|token|secret|passw|authorization|cookie", re.IGNORECASE)
"""Settings with such names hold secrets, unless they are numbers."""


def credentials(address: str) -> list[str]:
    """Returns the user's name and password in an address.

    :param address: A URL.
    """
    found = urlsplit(address)
    parts = [part for part in (found.username, found.password) if part]
    return [*parts, *(unquote(part) for part in parts if unquote(part) != part)]


def plain_secrets(settings: Any, name: str = "") -> list[str]:
    """Find secrets that stand in settings as plain text: by the names that they have, or in addresses.

    :param settings: A JSON value.
    :param name: The name under which it stands.
    :returns: The secrets; without the words before them, such as ``Bearer``.
    """
    match settings:
        case str():
            try:
                held = credentials(settings) if "://" in settings else []
            except ValueError:
                held = []
            return held + ([settings, *settings.split()[-1:]] if _TELLING.search(name) else [])
        case dict():
            return [secret for key, value in settings.items() for secret in plain_secrets(value, str(key))]
        case list():
            return [secret for value in settings for secret in plain_secrets(value, name)]
        case _:
            return []


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
