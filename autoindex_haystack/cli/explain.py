"""``autoindex explain``: why relevant documents were missed in a run, and what was made of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.output import print_json, print_table
from autoindex_haystack.cli.text import one_line

if TYPE_CHECKING:
    from autoindex_haystack.runs import ProgramEvidence, RunStory, TransformStory


@options.command("explain", "autoindex explain my_run", "autoindex explain my_run --query q1 --json")
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--query", metavar="ID", help="Tell of each relevant document that this validation query misses.")
@options.json_option
def command(run: Path, query: str | None, as_json: bool) -> None:
    """Tell why relevant documents were missed in the finished run RUN, and what was made of it.

    For each transform: how many missed documents it was forecast to reach, what was tried and what came of it. With
    --query, one line for each relevant document that the learned program misses. Only validation queries are looked
    into.
    """
    from autoindex_haystack.errors import RunError
    from autoindex_haystack.runs import tell

    story = tell(run)
    if query is None:
        if as_json:
            print_json(_summary(story))
        else:
            _print(story)
        return
    if query in story.held_out:
        msg = f"{query!r} is a held-out query of {run}: it is scored once, at the end, and never diagnosed"
        raise RunError(msg)
    if query not in story.queries:
        msg = f"{query!r} is no validation query of {run}; there are {', '.join(story.queries[:3])}, …"
        raise RunError(msg)
    told = _query(story, query)
    if as_json:
        print_json(told)
    else:
        _print_query(told)


def _summary(story: "RunStory") -> dict[str, Any]:
    """The story as a JSON object, without the single documents."""
    return {
        "queries": len(story.queries),
        "relevant": story.baseline.relevant,
        **{
            name: {"program_sha256": part.program_sha256, "missed": len(part.missed), "reasons": part.reasons}
            for name, part in (("baseline", story.baseline), ("learned", story.learned))
        },
        "transforms": [transform.model_dump() for transform in story.transforms],
        "objective": story.objective,
        "adopted": [{"iteration": i, "idea": idea, "gain": gain} for i, idea, gain in story.adopted],
    }


def _print(story: "RunStory") -> None:
    """Print the story for people."""
    from autoindex_haystack.evaluation.objective import objective_name

    before, after = len(story.baseline.missed), len(story.learned.missed)
    click.echo(
        f"{len(story.queries):,} validation queries have {story.baseline.relevant:,} relevant documents; not among the "
        f"first 100 are {before:,} with the whole document and {after:,} with the learned program"
    )
    reasons = dict.fromkeys([*story.baseline.reasons, *story.learned.reasons])
    rows = [[r, _count(story.baseline, r), _count(story.learned, r)] for r in reasons]
    print_table(["missed because", "whole document", "learned"], rows)
    click.echo(f"\nforecast and best are changes of the {objective_name(story.objective)}")
    rows = [_row(transform) for transform in story.transforms]
    print_table(["transform", "would reach", "would lose", "forecast", "tried", "best", "came of it"], rows)
    click.echo("")
    for iteration, idea, gain in story.adopted:
        click.echo(f"iteration {iteration} adopted ({gain:+.4f} {objective_name(story.objective)}): {one_line(idea)}")
    if not story.adopted:
        click.echo("nothing was adopted")


def _count(part: "ProgramEvidence", reason: str) -> str:
    return f"{part.reasons.get(reason, 0):,}"


def _row(story: "TransformStory") -> list[str]:
    forecast = story.forecast is not None and story.reached is not None and story.lost is not None
    return [
        story.transform,
        f"{story.reached:.0f}" if forecast else "-",
        f"{story.lost:.0f}" if forecast else "-",
        f"{story.forecast:+.4f}" if forecast else "-",
        f"{story.tried}",
        f"{story.best:+.4f}" if story.best is not None else "-",
        _outcome(story),
    ]


def _outcome(story: "TransformStory") -> str:
    if story.adopted:
        return "adopted"
    if not story.tried and not story.in_bundles:
        return "not tried"
    if story.tried and story.best is None:
        return "failed"
    if (story.best or 0.0) <= 0:
        return "did not help"
    return "helped; " + (story.refused.partition(" (")[0] or "something else helped more")


def _query(story: "RunStory", query: str) -> dict[str, Any]:
    """What is missed for one query, and what the learned program brought in."""
    before, after = (
        {miss.doc_id: miss for miss in part.missed if miss.query_id == query}
        for part in (story.baseline, story.learned)
    )
    return {
        "query": query,
        "missed": [miss.model_dump() for miss in after.values()],
        "brought_in": [before[document].model_dump() for document in before if document not in after],
        "dropped_out": [document for document in after if document not in before],
    }


def _print_query(told: dict[str, Any]) -> None:
    """Print one line for each document."""
    missed, brought_in = told["missed"], told["brought_in"]
    click.echo(f"query {told['query']}: {len(missed)} relevant documents missed, {len(brought_in)} brought in")
    for miss in missed:
        new = " (found with the whole document)" if miss["doc_id"] in told["dropped_out"] else ""
        click.echo(f"  {one_line(miss['doc_id'])}: {miss['reason']}{new}: {one_line(miss['explanation'])}")
    for miss in brought_in:
        click.echo(
            f"  {one_line(miss['doc_id'])}: found now; before, {miss['reason']}: {one_line(miss['explanation'])}"
        )
