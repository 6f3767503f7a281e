"""What an importer hands over: documents as a stream, queries with their judgments, and where they come from."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from autoindex_haystack.collection.types import Document
from autoindex_haystack.errors import CollectionError


@dataclass(frozen=True)
class Query:
    """A query with its judgments.

    :param text: The query.
    :param grades: Document id to grade; above 0 is relevant.
    """

    text: str
    grades: Mapping[str, int]


@dataclass(frozen=True)
class Source:
    """A collection on its way in.

    :param origin: Where it comes from, for its README: a sentence or more, in Markdown.
    :param documents: The documents, read while they are written; the title is the metadata's ``title``.
    :param queries: Query id to query; empty for a corpus without questions. It is asked for after the documents.
    :param synthetic: How the queries were made, when no person asked and judged them.
    :param partition: The names ``validation`` and ``held_out`` with the ids of their queries, when these are given.
    """

    origin: str
    documents: Iterable[Document]
    queries: Mapping[str, Query] = field(default_factory=dict)
    partition: Mapping[str, tuple[str, ...]] | None = None
    synthetic: str = ""


def whole_grade(label: float) -> int:
    """Returns a grade as a whole number; a fraction is rounded up, so that what is relevant stays so.

    :param label: The grade as published.
    """
    return math.ceil(label)


def need(module: str, package: str, purpose: str) -> Any:
    """Import a library that only some importers need.

    :param module: The module's name.
    :param package: The name to install it by.
    :param purpose: What it is needed for.
    :returns: The module.
    :raises CollectionError: If it is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        msg = f'{purpose} needs {package}; install it with: pip install "autoindex-haystack[import]"'
        raise CollectionError(msg) from None
