"""Cutting texts to what a prompt has room for."""


def cut(text: str, length: int) -> str:
    """Returns the text, with … in place of what goes beyond a length."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def line(text: str, length: int) -> str:
    """Returns the text on one line, cut."""
    return cut(" ".join(text[: 4 * length].split()), length)
