"""The split of a collection's queries into validation and held-out: seeded, written down, reused."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from autoindex_haystack.collection.collection import Collection
from autoindex_haystack.errors import CollectionError
from autoindex_haystack.files import atomic_file
from autoindex_haystack.wording import counted

FORMAT_VERSION = 1


class Split(BaseModel):
    """Which queries choose a program (validation) and which only judge it at the end (held-out).

    :param seed: The seed it was made with; None for a split that was given.
    :param validation: Query ids, a third of all.
    :param held_out: Query ids, the others.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format_version: int = FORMAT_VERSION
    collection: str
    seed: int | None = None
    validation: tuple[str, ...]
    held_out: tuple[str, ...]

    def save(self, path: Path) -> None:
        """Write the split as JSON, whole or not at all.

        :param path: The file.
        """
        with atomic_file(path) as temporary:
            temporary.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")


def make_split(collection: Collection, seed: int = 0) -> Split:
    """Split the queries 1 : 2, validation getting the whole part of a third.

    The order is that of a hash of seed and text, so queries with equal texts stay together and the split does not
    depend on the order of the file.

    :param collection: The collection.
    :param seed: Another seed gives another split.
    :returns: The split.
    :raises CollectionError: If there are fewer than 3 judged queries, or all have the same text.
    """
    wanted = len(collection.queries) // 3
    groups = sorted(_groups(collection.queries).items(), key=lambda item: _order(seed, item[0]))
    chosen: set[str] = set()
    for _, members in groups:
        if len(chosen) + len(members) <= wanted:
            chosen.update(members)
    if not chosen:
        msg = (
            f"collection {collection.name}: {len(collection.queries)} judged queries with {len(groups)} different "
            "texts are too few to split; give 3 or more that differ"
        )
        raise CollectionError(msg)
    return Split(
        collection=collection.name,
        seed=seed,
        validation=tuple(q for q in collection.queries if q in chosen),
        held_out=tuple(q for q in collection.queries if q not in chosen),
    )


def load_split(path: str | Path, collection: Collection) -> Split:
    """Read a split and check that it fits the collection.

    :param path: A file that :meth:`Split.save` wrote, or a run folder that holds ``split.json``.
    :param collection: The collection whose queries it names.
    :returns: The split.
    :raises CollectionError: If the file is missing, broken, names unknown queries or names a query twice.
    """
    path = Path(path)
    path = path / "split.json" if path.is_dir() else path
    try:
        split = Split.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        msg = f"{path} does not exist; write a split with `autoindex split`"
        raise CollectionError(msg) from None
    except (OSError, ValidationError) as error:
        msg = f"{path} is no split file; write one with `autoindex split` ({_first_line(error)})"
        raise CollectionError(msg) from error
    if split.format_version != FORMAT_VERSION:
        msg = f"{path} has split format {split.format_version}, this version reads {FORMAT_VERSION}; write it anew"
        raise CollectionError(msg)
    named = [*split.validation, *split.held_out]
    if unknown := [q for q in named if q not in collection.queries]:
        what = counted(len(unknown), "query is", "queries are")
        msg = f"{path}: {what} not judged in {collection.name}, the first is {unknown[0]!r}"
        raise CollectionError(msg)
    if len(set(named)) != len(named):
        msg = f"{path}: a query stands in both parts or twice; every query belongs to one part"
        raise CollectionError(msg)
    if not split.validation or not split.held_out:
        msg = f"{path}: both validation and held_out need at least one query"
        raise CollectionError(msg)
    return split


def _groups(queries: Mapping[str, str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for query_id, text in queries.items():
        groups[text].append(query_id)
    return groups


def _order(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed}\n{text}".encode()).digest()


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
