"""Evaluating any program on any collection: the function behind ``autoindex evaluate``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from autoindex_haystack.collection import Collection, Split, load_collection, load_split, make_split
from autoindex_haystack.evaluation.evaluator import Evaluator
from autoindex_haystack.evaluation.outcome import Evaluation
from autoindex_haystack.evaluation.running import Progress
from autoindex_haystack.frozen import ComponentSettings, FrozenComponent, load_frozen
from autoindex_haystack.program import Program, builtin_program, read_program
from autoindex_haystack.retrieval import BM25Settings, get_retriever
from autoindex_haystack.sandbox import Isolation, Limits

BUILTIN_PREFIX = "builtin:"

QuerySet = Literal["validation", "held-out", "all"]


@dataclass(frozen=True)
class ResolvedProgram:
    """A program with what belongs to it.

    :param program: The program.
    :param state: What a frozen component learned; None for a program that calibrates where it is used.
    :param settings: A frozen component's settings; the defaults otherwise.
    """

    program: Program
    state: dict[str, Any] | None
    settings: ComponentSettings


def resolve_program(given: str | Path | Program | FrozenComponent) -> ResolvedProgram:
    """Find the program that a user names.

    :param given: ``builtin:NAME``, a Python file, the folder of a frozen component, or one of the objects.
    :returns: The program, its state and its settings.
    :raises ProgramError: If there is no such program.
    :raises FrozenError: If the frozen component is damaged.
    """
    if isinstance(given, str | Path) and Path(given).is_dir():
        given = load_frozen(given)
    if isinstance(given, FrozenComponent):
        return ResolvedProgram(given.program, given.state, given.manifest.settings)
    if isinstance(given, str) and given.startswith(BUILTIN_PREFIX):
        given = builtin_program(given.removeprefix(BUILTIN_PREFIX))
    program = given if isinstance(given, Program) else read_program(Path(given))
    return ResolvedProgram(program, None, ComponentSettings())


def choose_queries(
    collection: Collection, queries: QuerySet, split: Split | str | Path | None = None, split_seed: int = 0
) -> Sequence[str]:
    """Choose the queries of one part of the split.

    :param collection: The collection.
    :param queries: ``validation``, ``held-out`` or ``all``.
    :param split: The split or its file; made with ``split_seed`` when not given.
    :param split_seed: Seed of the split.
    :returns: Query ids.
    :raises CollectionError: If the split does not fit the collection.
    """
    if queries == "all":
        return list(collection.queries)
    if split is None:
        split = make_split(collection, split_seed)
    elif not isinstance(split, Split):
        split = load_split(split, collection)
    return split.validation if queries == "validation" else split.held_out


def evaluate(
    collection: str | Path | Collection,
    program: str | Path | Program | FrozenComponent = "builtin:full_document",
    *,
    queries: QuerySet = "all",
    split: Split | str | Path | None = None,
    split_seed: int = 0,
    recalibrate: bool = False,
    bm25: BM25Settings | None = None,
    backend: str = "bm25s",
    metadata_fields: Sequence[str] = (),
    allowed_imports: Sequence[str] = (),
    limits: Limits = Limits(),  # noqa: B008 - frozen
    workers: int = 1,
    isolation: Isolation = "full",
    progress: Progress | None = None,
    reading: Callable[[int], None] | None = None,
) -> Evaluation:
    """Measure how well a program represents a collection for BM25.

    :param collection: A collection or its folder.
    :param program: ``builtin:NAME``, a Python file, a frozen component or its folder.
    :param queries: Which queries to score.
    :param split: The split or its file; made with ``split_seed`` when not given.
    :param split_seed: Seed of the split.
    :param recalibrate: Whether a frozen component's program learns from this corpus anew, in place of what it brings.
    :param bm25: BM25 parameters and analyzer; a frozen component's own when not given.
    :param backend: Name of the engine, also ``dense`` or ``hybrid``, see
        :func:`autoindex_haystack.retrieval.get_retriever`.
    :param metadata_fields: Metadata fields that the program may see, beside those of a frozen component.
    :param allowed_imports: Modules that the program may import, beside those of a frozen component.
    :param limits: What the program may use and return.
    :param workers: Worker processes.
    :param isolation: ``full``, or ``process-only`` for workers that the kernel does not lock.
    :param progress: Called as the work goes on.
    :param reading: Called with the number of documents read so far.
    :returns: Means, values by query, rankings, sizes and times.
    :raises AutoIndexError: If the collection, the program or the engine cannot be used.

    ```python
    from autoindex_haystack import evaluate

    print(evaluate("my_collection", "builtin:passages").metrics["recall@100"])
    ```
    """
    found = resolve_program(program)
    get_retriever(backend).check_installed()
    if not isinstance(collection, Collection):
        fields = dict.fromkeys((*found.settings.metadata_fields, *metadata_fields))
        collection = load_collection(collection, metadata_fields=fields, progress=reading)
    chosen = choose_queries(collection, queries, split, split_seed)
    with Evaluator(
        collection,
        bm25 or found.settings.bm25,
        backend=backend,
        limits=limits,
        workers=workers,
        allowed_imports=(*found.settings.allowed_imports, *allowed_imports),
        isolation=isolation,
    ) as evaluator:
        state = None if recalibrate else found.state
        return evaluator.evaluate(found.program, chosen, state=state, progress=progress)
