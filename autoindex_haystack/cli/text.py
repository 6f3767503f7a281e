"""Making foreign text safe to print: documents, ids and tracebacks may hold anything, terminal commands included."""

import unicodedata


def printable(text: str) -> str:
    """Returns the text with control characters other than line feed and tab made visible."""
    if text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def one_line(text: str) -> str:
    """Returns the text on one line, safe to print."""
    return printable(" ".join(text.split()))


def shortened(text: str, length: int) -> str:
    """Returns the text on one line, cut after so many characters."""
    # Only the beginning is looked at: a document may be very long.
    line = one_line(text[: 4 * length])
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


_TURN_AROUND = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that make text read in another order than it is written."""


def _visible(character: str) -> str:
    control = unicodedata.category(character) in ("Cc", "Cs") or character in _TURN_AROUND
    if not control or character in "\n\t":
        return character
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"
