"""What the meta of documents holds: fields, types, values. Nothing here knows a store."""

import json
from collections.abc import Iterable
from typing import Any

from haystack import Document

_TYPES = {bool: "boolean", int: "int", float: "float"}


def field_types(documents: Iterable[Document]) -> dict[str, dict[str, str]]:
    """Returns the type of each field of meta: boolean, int, float, or keyword for all else.

    :param documents: The documents; where they differ, the last one decides.
    """
    fields = {}
    for document in documents:
        for key, value in document.meta.items():
            if value is not None:
                fields[key] = {"type": _TYPES.get(type(value), "keyword")}
    return fields


def min_max(documents: Iterable[Document], metadata_field: str) -> dict[str, Any]:
    """Returns the smallest and the largest value of a field as ``min`` and ``max``; None where they cannot be compared.

    :param documents: The documents.
    :param metadata_field: The field, with or without ``meta.``.
    """
    values = [value for value in _values(documents, metadata_field) if isinstance(value, int | float | str)]
    try:
        return {"min": min(values, default=None), "max": max(values, default=None)}
    except TypeError:
        return {"min": None, "max": None}


def count_unique(documents: Iterable[Document], metadata_fields: Iterable[str]) -> dict[str, int]:
    """Returns how many different values each field has, by the field's name without ``meta.``.

    :param documents: The documents.
    :param metadata_fields: The fields, with or without ``meta.``.
    """
    documents = list(documents)
    return {_key(name): len({_identity(value) for value in _values(documents, name)}) for name in metadata_fields}


def unique_values(
    documents: Iterable[Document], metadata_field: str, search_term: str | None, begin: int, size: int
) -> tuple[list[Any], int]:
    """Returns a page of a field's different values in the order of their text, and how many there are in all.

    :param documents: The documents.
    :param metadata_field: The field, with or without ``meta.``.
    :param search_term: Only values whose text contains this, in upper or lower case.
    :param begin: The first value of the page.
    :param size: The page's length.
    """
    found = {_identity(value): value for value in _values(documents, metadata_field)}
    term = (search_term or "").lower()
    kept = {key: value for key, value in found.items() if term in str(value).lower()}
    ordered = sorted(kept, key=lambda key: (str(kept[key]), key))
    return [kept[key] for key in ordered[begin : begin + size]], len(ordered)


def _values(documents: Iterable[Document], metadata_field: str) -> Iterable[Any]:
    key = _key(metadata_field)
    return (value for document in documents if (value := document.meta.get(key)) is not None)


def _key(metadata_field: str) -> str:
    return metadata_field.removeprefix("meta.")


def _identity(value: Any) -> str:
    """A text that only equal values of the same type share: 1, 1.0, "1" and True stay apart, also within lists."""
    return json.dumps(value, sort_keys=True, default=repr)
