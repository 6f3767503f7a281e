"""``autoindex prompts``: what the agents are told."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.model import agent_options
from autoindex_haystack.cli.output import print_json, progress
from autoindex_haystack.cli.text import printable

if TYPE_CHECKING:
    from autoindex_haystack.proposers.agents import AgentSettings
    from autoindex_haystack.retrieval import BM25Settings
    from autoindex_haystack.sandbox import Isolation


@options.command(
    "prompts",
    "autoindex prompts",
    "autoindex prompts my_collection --show",
    "autoindex prompts my_collection --show --name analysis_task",
)
@click.argument("collection", type=click.Path(path_type=Path), required=False)
@click.option("--show", is_flag=True, help="Print the prompts as they are filled for COLLECTION.")
@click.option("--name", help="Only this prompt.")
@agent_options
@options.split_options
@options.bm25_options(frozen=False)
@options.metadata_fields_option
@options.allow_import_option
@options.workers_option
@options.sandbox_option
@options.json_option
def command(
    collection: Path | None,
    show: bool,
    name: str | None,
    agents: "Callable[[tuple[str, ...]], AgentSettings]",
    split: Path | None,
    split_seed: int,
    bm25: "Callable[[BM25Settings | None], BM25Settings]",
    metadata_fields: tuple[str, ...],
    allowed_imports: tuple[str, ...],
    workers: int,
    isolation: "Isolation",
    as_json: bool,
) -> None:
    """List the prompts of `optimize --proposer agents`, or show them as they are filled for COLLECTION.

    Nothing is sent. To fill them the baseline and one other program are evaluated; what only a model can give stands
    in brackets. The templates lie in the folder prompts of the checkout or of the installed package.
    """
    from autoindex_haystack.proposers.agents.prompts import header, names

    chosen = [name] if name else names()
    if name and name not in names():
        msg = f"no prompt is named {name!r}; there are {', '.join(names())}"
        raise click.BadParameter(msg, click.get_current_context(), param_hint="'--name'")
    if show != (collection is not None):
        msg = "--show goes with a COLLECTION"
        raise click.UsageError(msg, click.get_current_context())
    if collection is None:
        texts = {prompt: header(prompt) for prompt in chosen}
        if as_json:
            print_json(texts)
        else:
            for prompt, said in texts.items():
                click.echo(f"{click.style(prompt, bold=True)}: {said}")
        return
    from autoindex_haystack.collection import load_collection
    from autoindex_haystack.optimizer import SearchSettings
    from autoindex_haystack.optimizer.preview import preview_prompts

    with progress() as note:
        loaded = load_collection(collection, metadata_fields=metadata_fields, progress=note.documents)
        note("evaluating two programs")
        settings = SearchSettings(
            bm25=bm25(None), workers=workers, isolation=isolation, allowed_imports=allowed_imports
        )
        filled = preview_prompts(loaded, agents(allowed_imports), settings=settings, split=split, split_seed=split_seed)
    if as_json:
        print_json({prompt: filled[prompt] for prompt in chosen})
        return
    for prompt in chosen:
        click.echo(click.style(f"===== {prompt} =====", bold=True))
        click.echo(printable(filled[prompt]) + "\n")
