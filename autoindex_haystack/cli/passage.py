"""The piece of a text that shows why a query found it, ready to print."""

from autoindex_haystack.cli.text import shortened
from autoindex_haystack.retrieval.passages import passage_start


def passage(text: str, query: str, length: int = 160, analyzer: str = "bm25s") -> str:
    """Choose the piece with the most different words of the query.

    :param text: The text.
    :param query: The query.
    :param length: About how many characters to show.
    :param analyzer: The analyzer that found it.
    :returns: The piece on one line, with … where it was cut.
    """
    begin = passage_start(text, query, length, analyzer)
    return ("…" if begin else "") + shortened(text[begin:], length)
