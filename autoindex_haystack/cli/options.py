"""Options that several commands share: each is parsed, checked and turned into the type of its room here, once.

Rooms are imported when a command runs, so that ``autoindex COMMAND --help`` stays quick. The defaults stated in help
texts are compared with those of the rooms by a test.
"""

import functools
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from autoindex_haystack.cli.flags import debug_option

if TYPE_CHECKING:
    from autoindex_haystack.retrieval import BM25Settings

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[F], F]


SECTIONS = {
    "Language model": (
        *("--model", "--base-url", "--api-key-env", "--generator", "--temperature", "--stream", "--llm-timeout"),
        *("--max-tokens-total", "--max-usd", "--max-minutes", "--prices", "--condition", "--analysis-steps"),
        *("--context-tokens", "--answer-tokens", "--describe", "--replay"),
    ),
    "Your own indexing pipeline": ("--corpus-from-pipeline", "--files", "--wrap"),
    "Queries": ("--queries", "--split", "--split-seed"),
    "Retrieval": ("--backend", "--analyzer", "--k1", "--b"),
    "Work in blocks": ("--engine", "--address", "--shards", "--block-size", "--sink", "--url", "--index-name"),
    "Programs and their isolation": (
        *("--metadata-fields", "--allow-import", "--timeout", "--program-memory", "--max-unreachable", "--sandbox"),
        *("--workers", "--jobs", "--stage-size"),
    ),
    "Output": ("--force", "--json", "--debug", "--help"),
}
"""Where options that several commands share stand in the help of a command with many options."""

_MANY = 12


class Command(click.Command):
    """A command with an example in its help, and with sections where it has many options.

    :param example: Command lines, as a user would type them.
    """

    def __init__(self, name: str | None, *, example: tuple[str, ...] = (), **kwargs: Any) -> None:
        self.example = example
        title = "Examples" if len(example) > 1 else "Example"
        lines = "\n".join(f"  {line}" for line in example)
        super().__init__(name, epilog=f"\b\n{title}:\n{lines}", **kwargs)
        self.params.append(debug_option())

    def sections(self, ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
        """Sort the options into sections.

        :param ctx: The context of the command.
        :returns: For each section that has any, its options as names and help; the command's own come first.
        """
        flags = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        shown = [(flag.opts, record) for flag in flags if (record := flag.get_help_record(ctx))]
        section_of = {option: title for title, options in SECTIONS.items() for option in options}
        own = "Options"
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in (own, *SECTIONS)}
        for names, record in shown:
            title = next((section_of[name] for name in names if name in section_of), own)
            sections[title if len(shown) > _MANY else own].append(record)
        return {title: records for title, records in sections.items() if records}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, records in self.sections(ctx).items():
            with formatter.section(title):
                formatter.write_dl(records)


def command(name: str, *example: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a function; its docstring is the help.

    :param name: The command's name.
    :param example: Command lines that show its use.
    """

    def make(function: Callable[..., Any]) -> click.Command:
        return click.command(name, cls=Command, example=example)(function)

    return make


class Number(click.FloatRange):
    """A finite number within a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no finite number.", param, ctx)
        return number


class ProgramName(click.ParamType[str]):
    """``builtin:NAME``, a Python file or the folder of a frozen component."""

    name = "program"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from autoindex_haystack.evaluation.evaluate import BUILTIN_PREFIX
        from autoindex_haystack.program import BUILTIN_NAMES

        names = [BUILTIN_PREFIX + name for name in BUILTIN_NAMES]
        begun = [CompletionItem(name) for name in names if incomplete and name.startswith(incomplete)]
        return begun or [CompletionItem(incomplete, type="file")]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from autoindex_haystack.evaluation.evaluate import BUILTIN_PREFIX
        from autoindex_haystack.program import BUILTIN_NAMES

        if value.startswith(BUILTIN_PREFIX):
            if value.removeprefix(BUILTIN_PREFIX) not in BUILTIN_NAMES:
                known = ", ".join(BUILTIN_PREFIX + name for name in BUILTIN_NAMES)
                self.fail(f"there is no {value!r}; there are {known}.", param, ctx)
        elif not Path(value).exists():
            self.fail(f"{value!r} does not exist; give a Python file, a frozen component or builtin:NAME.", param, ctx)
        return str(value)


class BackendName(click.ParamType[str]):
    """The name of an installed BM25 engine."""

    name = "backend"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "[bm25s|lucene]"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from autoindex_haystack.retrieval import backend_names

        return [CompletionItem(name) for name in backend_names() if name.startswith(incomplete)]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from autoindex_haystack.retrieval import FOR_EVALUATION, backend_names

        if value.partition(":")[0] in FOR_EVALUATION:
            self.fail(f"{value} is for `autoindex evaluate` alone: here the engine is one of BM25.", param, ctx)
        if value not in backend_names():
            self.fail(f"no engine is named {value!r}; installed are {', '.join(backend_names())}.", param, ctx)
        return str(value)


class RetrieverName(BackendName):
    """The name of any installed engine; one with an embedding model may be followed by the package that holds it."""

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "[bm25s|lucene|dense[:PACKAGE]|hybrid[:PACKAGE]]"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from autoindex_haystack.retrieval import retriever_names

        return [CompletionItem(name) for name in retriever_names() if name.startswith(incomplete)]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from autoindex_haystack.retrieval import retriever_names

        if value.partition(":")[0] not in retriever_names():
            self.fail(f"no engine is named {value!r}; installed are {', '.join(retriever_names())}.", param, ctx)
        return str(value)


def usable_cores() -> int:
    """Returns how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


collection_argument: Decorator[Any] = click.argument("collection", type=click.Path(path_type=Path))
"""A folder in BEIR layout; the reader says what is wrong with it."""

json_option: Decorator[Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else there."
)

quiet_option: Decorator[Any] = click.option(
    "--quiet", is_flag=True, help="Show nothing of what goes on, only the result."
)

force_option: Decorator[Any] = click.option("--force", is_flag=True, help="Replace what is there.")

workers_option: Decorator[Any] = click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=usable_cores,
    show_default="the usable cores",
    help="Worker processes in which the program runs.",
)

jobs_option: Decorator[Any] = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=usable_cores,
    show_default="the usable cores",
    help="Candidates evaluated side by side, which share the worker processes. It changes no result.",
)

program_option: Decorator[Any] = click.option(
    "--program",
    type=ProgramName(),
    metavar="FILE|FROZEN|builtin:NAME",
    default="builtin:full_document",
    show_default=True,
    help="The representation program: a Python file, a frozen component or a built-in one.",
)

backend_option: Decorator[Any] = click.option(
    "--backend", type=BackendName(), default="bm25s", show_default=True, help="The retrieval engine."
)

queries_option: Decorator[Any] = click.option(
    "--queries",
    type=click.Choice(["validation", "held-out", "all"]),
    default="all",
    show_default=True,
    help="Which queries to score.",
)

retriever_option: Decorator[Any] = click.option(
    "--backend", type=RetrieverName(), default="bm25s", show_default=True, help="The retrieval engine."
)

metadata_fields_option: Decorator[Any] = click.option(
    "--metadata-fields",
    multiple=True,
    metavar="NAME[,NAME]",
    callback=lambda _, __, values: _names(values),
    help="Metadata fields that the program may see beside the title; may be repeated.",
)

allow_import_option: Decorator[Any] = click.option(
    "--allow-import",
    "allowed_imports",
    multiple=True,
    metavar="MODULE[,MODULE]",
    callback=lambda _, __, values: _modules(values),
    help="A module that the program may import beside the usual ones; may be repeated.",
)


def bm25_options(*, frozen: bool = True) -> Decorator[F]:
    """Give a command ``--k1``, ``--b`` and ``--analyzer``.

    The command gets ``bm25``: a function from the settings that hold where nothing was given to those that hold now.

    :param frozen: Whether the command takes a frozen component, whose own settings then are the default.
    """
    own = ", or a frozen component's own" if frozen else ""

    def decorate(function: F) -> F:
        @click.option(
            "--analyzer",
            metavar="[bm25s|lucene-english|lucene-standard]",
            help=f"How text becomes tokens. Default: bm25s{own}.",
        )
        @click.option("--k1", type=float, help=f"Saturation of term frequency, 0 to 100. Default: 1.5{own}.")
        @click.option("--b", type=float, help=f"Strength of length normalization, 0 to 1. Default: 0.75{own}.")
        @functools.wraps(function)
        def wrapped(*args: Any, analyzer: str | None, k1: float | None, b: float | None, **kwargs: Any) -> Any:
            given = {"analyzer": analyzer, "k1": k1, "b": b}
            return function(*args, bm25=_bm25({name: v for name, v in given.items() if v is not None}), **kwargs)

        return wrapped  # type: ignore[return-value]

    return decorate


def limits_options(function: F) -> F:
    """Give a command ``--timeout``, ``--program-memory`` and ``--max-unreachable``; it gets ``limits``."""

    @click.option(
        "--timeout",
        type=Number(min=0, min_open=True, max=10_000_000),
        metavar="SECONDS",
        default=900,
        show_default=True,
        help="Time that the program may take for the corpus.",
    )
    @click.option(
        "--program-memory",
        type=click.IntRange(min=64, max=1 << 20),
        metavar="MIB",
        default=2048,
        show_default=True,
        help="Memory (address space) that each of the program's processes may have, in MiB.",
    )
    @click.option(
        "--max-unreachable",
        type=Number(min=0, max=1),
        metavar="SHARE",
        default=0.01,
        show_default=True,
        help="Share of the documents that the program may leave without any token.",
    )
    @functools.wraps(function)
    def wrapped(*args: Any, timeout: float, program_memory: int, max_unreachable: float, **kwargs: Any) -> Any:
        from autoindex_haystack.sandbox import Limits

        limits = Limits(seconds=timeout, memory=program_memory << 20, unreachable=max_unreachable)
        return function(*args, limits=limits, **kwargs)

    return wrapped  # type: ignore[return-value]


def sandbox_option(function: F) -> F:
    """Give a command ``--sandbox``; it gets ``isolation``."""
    return click.option(
        "--sandbox",
        "isolation",
        type=click.Choice(["full", "process-only"]),
        default="full",
        show_default=True,
        help="Isolation of the program: all layers of the kernel's, or none of them, for programs that you trust.",
    )(function)


def split_options(function: F) -> F:
    """Give a command ``--split`` and ``--split-seed``; it gets ``split`` (a path or None) and ``split_seed``."""

    @click.option(
        "--split",
        type=click.Path(exists=True, path_type=Path),
        metavar="FILE|RUN",
        help="The split of the queries: a file of `autoindex split` or a run folder.",
    )
    @click.option("--split-seed", type=int, help="Seed of a new split, when --split is not given; 0 by default.")
    @functools.wraps(function)
    def wrapped(*args: Any, split: Path | None, split_seed: int | None, **kwargs: Any) -> Any:
        if split is not None and split_seed is not None:
            msg = "--split-seed makes a new split; it cannot be used together with --split"
            raise click.UsageError(msg, click.get_current_context())
        return function(*args, split=split, split_seed=split_seed or 0, **kwargs)

    return wrapped  # type: ignore[return-value]


def _modules(values: tuple[str, ...]) -> tuple[str, ...]:
    from autoindex_haystack.program import missing_modules

    found = _names(values)
    if missing := missing_modules(found):
        msg = f"this Python has no module {missing[0]!r}; install it, or leave it out."
        raise click.BadParameter(msg)
    return found


def _names(values: tuple[str, ...]) -> tuple[str, ...]:
    """Take names apart that were given repeatedly or with commas between them; each once, in order."""
    names = (name.strip() for value in values for name in value.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def _bm25(given: dict[str, Any]) -> Callable[["BM25Settings | None"], "BM25Settings"]:
    """Check the given settings; a bad one is a usage error that names its option."""
    from pydantic import ValidationError

    from autoindex_haystack.retrieval import BM25Settings

    try:
        checked = BM25Settings(**given)
    except ValidationError as error:
        first = error.errors()[0]
        # Pydantic speaks of "Input"; a user wants to see the value.
        message = first["msg"].removeprefix("Value error, ").replace("Input ", f"{first['input']} ", 1)
        raise click.BadParameter(message, click.get_current_context(), param_hint=f"'--{first['loc'][0]}'") from None
    return lambda base: base.model_copy(update=given) if base is not None else checked
