"""Layout: which pieces of a document become chunks, and what is said more than once.

Passages help where a long document answers in one place; repeating the title or the beginning helps where these say
what the document is about. Each extra chunk costs its length in the index.
"""

from collections.abc import Iterable

from autoindex_haystack.proposers.builtin.transforms.words import LONGEST_TITLE, MOST_CHUNKS


def windows(text: str, title: str, words: int) -> list[str]:
    """Cut a text of more than so many words into windows that overlap by half, each with the title in front.

    The windows of a very long text have more words, so that there are not too many of them.
    """
    found = text.split()
    if len(found) <= words:
        return []
    words = max(words, 2 * len(found) // MOST_CHUNKS + 2)
    starts = range(0, len(found) - words // 2, words // 2)
    return [f"{title[:LONGEST_TITLE]}\n{' '.join(found[start : start + words])}" for start in starts]


def lead(text: str, words: int) -> str:
    """Returns the first so many words."""
    return " ".join(text.split(None, words)[:words])


def repeat(text: str, times: int) -> str:
    """Returns a text so many times, one a line."""
    return "\n".join([text] * times) if text else ""


def metadata_text(values: Iterable[object]) -> str:
    """Returns the metadata values that are words or numbers, one a line."""
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return "\n".join(str(item) for item in flat if isinstance(item, str | int | float) and not isinstance(item, bool))
