"""``autoindex import``: what other tools and benchmarks publish, as a collection in our layout."""

from collections.abc import Callable
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.flags import debug_option
from autoindex_haystack.cli.output import print_json, print_notes, progress
from autoindex_haystack.cli.places import check_outputs
from autoindex_haystack.wording import counted

if TYPE_CHECKING:
    from autoindex_haystack.collection.importers import Source

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)

_out_option: options.Decorator[Any] = click.option(
    "--out", required=True, type=click.Path(path_type=Path), metavar="COLLECTION", help="The folder to write."
)


@click.group("import", epilog="`autoindex import LAYOUT --help` explains a layout and shows an example.")
def command() -> None:
    """Make a collection of what other tools and benchmarks publish.

    COLLECTION gets corpus.jsonl, queries.jsonl, qrels.tsv and a README with origin and counts. Documents are written as
    they are read, so that a corpus of any size takes little memory.
    """


command.params.append(debug_option())


def _layout(name: str, short: str, *example: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a subcommand; its function gets the options of the layout and returns the source and what it reads."""

    def make(function: Callable[..., "tuple[Callable[[], Source], list[Path]]"]) -> click.Command:
        def run(*, out: Path, force: bool, as_json: bool, **given: Any) -> None:
            source, inputs = function(**given)
            _write(source, inputs, out, force=force, as_json=as_json)

        run.__doc__, run.__name__ = function.__doc__, function.__name__
        decorated = _out_option(options.force_option(options.json_option(run)))
        decorated.__click_params__ += getattr(function, "__click_params__", [])
        made = click.command(name, cls=options.Command, example=example, short_help=short)(decorated)
        command.add_command(made)
        return made

    return make


def _write(source: "Callable[[], Source]", inputs: list[Path], out: Path, *, force: bool, as_json: bool) -> None:
    """Write the collection and say what it has."""
    from autoindex_haystack.collection.importers import write_collection

    check_outputs(out, inputs=inputs, force=force)
    with progress() as show:
        show("reading queries")
        imported = write_collection(source(), out, force=force, progress=show.documents)
    if as_json:
        counts = {name: getattr(imported, name) for name in ("documents", "queries", "judgments")}
        print_json({"collection": str(out.resolve()), **counts, "notes": list(imported.notes)})
        return
    print_notes(imported.notes)
    documents = counted(imported.documents, "document", "documents")
    queries = counted(imported.queries, "query", "queries")
    judgments = counted(imported.judgments, "judgment", "judgments")
    click.echo(f"{documents}, {queries} and {judgments} in {out}")
    if imported.queries:
        click.echo(f"Learn on it with: {join(['autoindex', 'optimize', str(out), '--out', f'{out}_run'])}")
    else:
        command = join(["autoindex", "make-queries", str(out), "--out", f"{out}_with_queries"])
        click.echo(f"Questions can be made of its documents: {command}")


@_layout(
    "crumb",
    "A task of CRUMB, the benchmark of the paper.",
    "autoindex import crumb stack_exchange --out stack_exchange",
    "autoindex import crumb legal_qa --from crumb/ --partition query_splits.json --out legal_qa",
)
@click.argument("split")
@click.option("--from", "folder", type=_FOLDER, metavar="DIR", help="A copy of the published files; else downloaded.")
@click.option("--partition", type=_FILE, metavar="FILE", help="The pinned partition of the queries, JSON.")
def crumb(split: str, folder: Path | None, partition: Path | None) -> "tuple[Callable[[], Source], list[Path]]":
    """One of the eight tasks of CRUMB, the benchmark of the AutoIndex paper, with full documents.

    DIR has the dataset as Hugging Face publishes it, JSON lines or Parquet. Without --from it is downloaded, which
    needs the package `datasets`. With --partition the collection gets a split.json for --split.
    """
    from autoindex_haystack.collection.importers.crumb import crumb_source

    return lambda: crumb_source(split, folder, partition), [path for path in (folder, partition) if path]


@_layout(
    "irds",
    "A dataset of ir_datasets.",
    "autoindex import irds beir/scifact/test --out scifact",
)
@click.argument("name")
def irds(name: str) -> "tuple[Callable[[], Source], list[Path]]":
    """A dataset of ir_datasets, which downloads what is not there yet."""
    from autoindex_haystack.collection.importers.irds import irds_source

    return lambda: irds_source(name), []


@_layout(
    "trec",
    "TREC's documents, topics and qrels.",
    "autoindex import trec disk4.gz disk5/ --topics topics.401-450 --qrels qrels.txt --out trec8",
)
@click.argument("documents", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--topics", required=True, type=_FILE, metavar="FILE", help="<top> records, XML, or id, tab and text.")
@click.option("--qrels", required=True, type=_FILE, metavar="FILE", help="TREC's four columns.")
@click.option(
    "--topic-fields",
    default="title",
    show_default=True,
    metavar="NAME[,NAME]",
    callback=lambda _, __, value: _topic_fields(value),
    help="What of a topic makes the query: title, desc and narr.",
)
def trec(
    documents: tuple[Path, ...], topics: Path, qrels: Path, topic_fields: tuple[str, ...]
) -> "tuple[Callable[[], Source], list[Path]]":
    """TREC's own files: DOCUMENTS are files of <DOC> records, or folders of such, plain, .gz or .zst."""
    from autoindex_haystack.collection.importers.trec import trec_source

    return lambda: trec_source(documents, topics, qrels, topic_fields), [*documents, topics, qrels]


def _topic_fields(value: str) -> tuple[str, ...]:
    from autoindex_haystack.collection.importers.trec import TOPIC_FIELDS

    names = tuple(filter(None, map(str.strip, value.split(","))))
    if not names or (unknown := sorted(set(names) - set(TOPIC_FIELDS))):
        msg = f"{(unknown or [value])[0]!r} is no part of a topic; there are {', '.join(TOPIC_FIELDS)}"
        raise click.BadParameter(msg)
    return names


@_layout(
    "haystack",
    "Haystack Documents as JSON.",
    "autoindex import haystack documents.json --queries queries.jsonl --qrels qrels.tsv --out my_collection",
)
@click.argument("documents", type=_FILE)
@click.option("--queries", type=_FILE, metavar="FILE", help="Lines with _id and text.")
@click.option("--qrels", type=_FILE, metavar="FILE", help="Judgments: query id, Document id, grade.")
def haystack(documents: Path, queries: Path | None, qrels: Path | None) -> "tuple[Callable[[], Source], list[Path]]":
    """Haystack Documents as `Document.to_dict()` gives them: a JSON array, or one a line.

    Meta becomes metadata, of which `title` is the title.
    """
    from autoindex_haystack.collection.importers.haystack_documents import haystack_source

    return lambda: haystack_source(documents, queries, qrels), [p for p in (documents, queries, qrels) if p]


@_layout(
    "folder",
    "Files, and questions in a CSV file.",
    "autoindex import folder docs/ --questions questions.csv --out my_collection",
)
@click.argument("folder", type=_FOLDER)
@click.option("--questions", type=_FILE, metavar="FILE.csv", help="Columns question and file; grade and id if wanted.")
def folder(folder: Path, questions: Path | None) -> "tuple[Callable[[], Source], list[Path]]":
    """A folder of Markdown, HTML or text files, and questions with the files that answer them.

    A file is a document as it stands, markup and all, with its path in the folder as id. A question that several files
    answer has several rows, or the files separated by `;`.
    """
    from autoindex_haystack.collection.importers.folder import folder_source

    return lambda: folder_source(folder, questions), [path for path in (folder, questions) if path]


@_layout(
    "stackexchange",
    "The dump of a Stack Exchange site.",
    "autoindex import stackexchange cooking.stackexchange.com/ --out cooking",
)
@click.argument("folder", type=_FOLDER)
@click.option(
    "--task",
    type=click.Choice(["answers", "duplicates"]),
    default="answers",
    show_default=True,
    help="Find answers to questions, or the questions that others repeat.",
)
def stackexchange(folder: Path, task: Any) -> "tuple[Callable[[], Source], list[Path]]":
    """The dump of a Stack Exchange site: a folder with Posts.xml and, for duplicates, PostLinks.xml."""
    from autoindex_haystack.collection.importers.stackexchange import stackexchange_source

    return lambda: stackexchange_source(folder, task), [folder]
