"""``autoindex optimize``: the search, its log on the terminal, its result."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoindex_haystack.cli import options
from autoindex_haystack.cli.model import AGENT_NAMES, MODEL_NAMES, REACHING, agent_options, given, model_options
from autoindex_haystack.cli.output import print_json, print_notes, print_table, progress
from autoindex_haystack.cli.pipelines import learn_on_pipeline, pipeline_options, read_pipeline, write_wrapped
from autoindex_haystack.cli.places import check_outputs
from autoindex_haystack.cli.report_page import add_report
from autoindex_haystack.wording import counted

if TYPE_CHECKING:
    from autoindex_haystack.evaluation.objective import Objective
    from autoindex_haystack.llm import Recorded
    from autoindex_haystack.llm.connect import ModelOptions
    from autoindex_haystack.optimizer import SearchSettings
    from autoindex_haystack.optimizer.settings import AcceptanceName
    from autoindex_haystack.proposers import Proposer
    from autoindex_haystack.proposers.agents import AgentSettings
    from autoindex_haystack.retrieval import BM25Settings
    from autoindex_haystack.runs import RunResult
    from autoindex_haystack.sandbox import Isolation, Limits


@options.command(
    "optimize",
    "autoindex optimize my_collection --out my_run",
    "autoindex optimize my_collection --out my_run --proposer agents --model gpt-5-mini --max-tokens-total 500000",
    "autoindex optimize --resume my_run",
    "autoindex optimize my_collection --out again --replay my_run",
    "autoindex optimize my_collection --start other_run/frozen --iterations 3 --out my_run",
    "autoindex optimize my_questions --corpus-from-pipeline indexing.yaml --files my_docs --wrap indexing.yaml "
    "--out my_run",
)
@click.argument("collection", type=click.Path(path_type=Path), required=False)
@click.option("--out", type=click.Path(path_type=Path), metavar="RUN", help="The run folder to write.")
@click.option(
    "--resume",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="RUN",
    help="Go on with an interrupted run, with its own settings: nothing is done twice. COLLECTION is needed "
    "only if it is no longer where it was.",
)
@click.option("--iterations", type=click.IntRange(min=0), default=10, show_default=True, help="Rounds of proposals.")
@click.option("--candidates", type=click.IntRange(min=1), default=8, show_default=True, help="Candidates a round.")
@click.option(
    "--objective",
    type=click.Choice(["recall@100", "ndcg@10", "weighted"]),
    default="recall@100",
    show_default=True,
    help="What is maximized on the validation queries; weighted is the mean of the two.",
)
@click.option(
    "--acceptance",
    type=click.Choice(["guarded", "paper"]),
    default="guarded",
    show_default=True,
    help="What is adopted. guarded: what is better by more than luck, counting everything that was tried, without "
    "losing nDCG@10. paper: any gain.",
)
@click.option(
    "--max-growth",
    type=options.Number(min=0, min_open=True),
    metavar="FACTOR",
    default=3,
    show_default=True,
    help="guarded: how many times the corpus the index text may be.",
)
@click.option(
    "--start",
    type=options.ProgramName(),
    metavar="FILE|FROZEN|builtin:NAME",
    help="The program that the search starts from, such as one that was learned elsewhere; it learns from this corpus "
    "anew. Gains are still told against the full documents. The built-in proposer adds to programs of its own only.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the proposer.")
@click.option(
    "--proposer",
    type=click.Choice(["builtin", "agents", "both"]),
    default="builtin",
    show_default=True,
    help="Who suggests programs: the built-in proposer, two agents that ask a language model, or both in turns.",
)
@model_options
@agent_options
@click.option(
    "--replay",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="RUN",
    help="Repeat a run with its own settings and the recorded answers of its model, without any network.",
)
@pipeline_options
@options.split_options
@options.backend_option
@options.bm25_options(frozen=False)
@options.metadata_fields_option
@options.allow_import_option
@options.limits_options
@options.workers_option
@options.jobs_option
@click.option(
    "--stage-size",
    type=click.IntRange(min=0),
    metavar="DOCUMENTS",
    show_default="4000",
    help="For a corpus at least four times as large: documents that candidates run over first; those whose estimated "
    "gain is too small go no further. With 0 only candidates that are sure to fall short are dropped.",
)
@options.sandbox_option
@options.force_option
@options.quiet_option
@options.json_option
def command(
    collection: Path | None,
    out: Path | None,
    resume: Path | None,
    iterations: int,
    candidates: int,
    objective: "Objective",
    acceptance: "AcceptanceName",
    max_growth: float,
    start: str | None,
    seed: int,
    proposer: str,
    model: "ModelOptions",
    agents: "Callable[[tuple[str, ...]], AgentSettings]",
    replay: Path | None,
    corpus_from_pipeline: Path | None,
    files: Path | None,
    wrap: Path | None,
    split: Path | None,
    split_seed: int,
    backend: str,
    bm25: "Callable[[BM25Settings | None], BM25Settings]",
    metadata_fields: tuple[str, ...],
    allowed_imports: tuple[str, ...],
    limits: "Limits",
    workers: int,
    jobs: int,
    stage_size: int | None,
    isolation: "Isolation",
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Search for the representation program that makes retrieval best on COLLECTION, with BM25 held fixed.

    Candidates are compared on the validation queries; the held-out queries are scored once, at the end. The run folder
    gets settings, journal, every program, result.json and the frozen component with its Haystack pipelines. A language
    model is asked only with --proposer agents or both; its answers are kept in the run folder.

    Ctrl-C lets the search finish its step, and a second one ends it at once; then go on with
    --resume RUN.
    """
    from autoindex_haystack import optimizer
    from autoindex_haystack.cli.interrupting import resumable
    from autoindex_haystack.cli.live import LiveView
    from autoindex_haystack.cli.resuming import proposer_again
    from autoindex_haystack.cli.search_log import SearchLog
    from autoindex_haystack.optimizer import SearchSettings
    from autoindex_haystack.optimizer.replay import recorded_settings
    from autoindex_haystack.runs import read_info

    _check_together(proposer, replay, resume)
    if wrap:
        read_pipeline(wrap)
    how: Any = {"workers": workers, "jobs": jobs, "isolation": isolation}
    told_again = False
    if resume:
        run, objective = resume, recorded_settings(read_info(resume).settings).objective
        search = partial(optimizer.resume, run, collection=collection, proposer=proposer_again(run, model), **how)
        if told_again := optimizer.is_finished(run):
            print_notes([f"{run} is finished; this is its result."])
    else:
        run, collection = _needed(out, "option '--out'"), _needed(collection, "argument 'COLLECTION'")
        read = [collection, *([replay] if replay else []), *([Path(start)] if start else [])]
        _spare_interrupted(run, force=force)
        check_outputs(run, inputs=read, force=force)
        learn_on_pipeline(collection, corpus_from_pipeline, files)
        how |= {"force": force}
        if replay:
            objective = recorded_settings(read_info(replay).settings).objective
            search = partial(optimizer.replay, collection, replay, run, **how)
        else:
            told = agents(allowed_imports)
            if told.condition == "one-shot":
                iterations = candidates = 1
            settings = SearchSettings(
                iterations=iterations,
                candidates=candidates,
                objective=objective,
                acceptance=acceptance,
                max_growth=max_growth,
                stage_size=stage_size,
                seed=seed,
                bm25=bm25(None),
                backend=backend,
                limits=limits,
                workers=workers,
                jobs=jobs,
                allowed_imports=allowed_imports,
                isolation=isolation,
            )
            search = partial(
                optimizer.optimize,
                collection,
                run,
                settings=settings,
                proposer=_proposer(proposer, model, told, settings, run),
                split=split,
                split_seed=split_seed,
                metadata_fields=metadata_fields,
                start=start,
                force=force,
            )
    with progress(LiveView(run, at_work=True), quiet=quiet) as show, resumable(run) as stop:
        result = search(listener=SearchLog(show, objective=objective, quiet=quiet or as_json), stop=stop)
    wrapped = write_wrapped(wrap, run) if wrap else None
    page = None if told_again else add_report(run)
    written = {name: str(path.resolve()) for name, path in (("wrapped", wrapped), ("report", page)) if path}
    if as_json:
        print_json(result.model_dump(mode="json") | written)
        return
    print_notes(result.notes)
    print_result(result)
    if wrapped:
        click.echo(f"your pipeline with the component in it: {wrapped}")
    if page:
        click.echo(f"report for people: {page}")
    if not result.adopted:
        click.echo(f"nothing was adopted; see what was missed and tried: autoindex explain {run}")


def _needed(value: Path | None, name: str) -> Path:
    if value is None:
        msg = f"Missing {name}"
        raise click.UsageError(msg, click.get_current_context())
    return value


def _spare_interrupted(run: Path, *, force: bool) -> None:
    """Say of a run that was interrupted how it goes on, before it is suggested to replace it."""
    from autoindex_haystack.errors import RunError
    from autoindex_haystack.runs.status import state_of

    if not force and (run / "run.json").exists() and state_of(run) == "interrupted":
        msg = (
            f"{run} exists and was interrupted; go on with `autoindex optimize --resume {run}`, choose another place "
            "or replace it with --force"
        )
        raise RunError(msg)


def _check_together(proposer: str, replay: Path | None, resume: Path | None) -> None:
    """Refuse options that would have no effect beside others."""
    parameters = click.get_current_context().command.params
    if resume or replay:
        which, what = ("--resume", "goes on with") if resume else ("--replay", "repeats")
        free = {"collection", "wrap", "workers", "jobs", "isolation", "quiet", "as_json"}
        free |= {"resume", *REACHING} if resume else {"replay", "out", "force"}
        decisive = tuple(parameter.name for parameter in parameters if parameter.name and parameter.name not in free)
        if named := given(decisive):
            msg = f"{which} {what} a run with its own settings; leave out {', '.join(named)}"
            raise click.UsageError(msg, click.get_current_context())
        return
    if proposer == "builtin" and (named := given(MODEL_NAMES + AGENT_NAMES)):
        msg = f"{named[0]} is for a language model; add --proposer agents or both"
        raise click.UsageError(msg, click.get_current_context())
    once = click.get_current_context().params.get("condition") == "one-shot"
    if once and (named := given(("iterations", "candidates"))):
        msg = f"--condition one-shot is one program in one iteration; leave out {', '.join(named)}"
        raise click.UsageError(msg, click.get_current_context())


def _proposer(
    name: str, model: "ModelOptions", agents: "AgentSettings", settings: "SearchSettings", out: Path
) -> "Proposer":
    """Make the proposer, and say what it will cost."""
    from autoindex_haystack.llm import EXCHANGES
    from autoindex_haystack.llm.connect import connect
    from autoindex_haystack.proposers.agents.estimate import estimate
    from autoindex_haystack.proposers.factory import make_proposer

    def connected() -> "Recorded":
        found = connect(model, out / EXCHANGES)
        iterations = settings.iterations if name == "agents" else (settings.iterations + 1) // 2
        expected = estimate(agents, iterations, settings.candidates)
        print_notes([f"Expect {expected.text(found.ledger.price)}."])
        return found

    return make_proposer(name, connected, agents)


def print_result(result: "RunResult") -> None:
    """Print the figures of a search before and after, for people."""
    rows = []
    for metric, before in result.baseline.held_out.items():
        after, difference = result.learned.held_out[metric], result.differences[metric]
        interval = f"{difference.low:+.4f} to {difference.high:+.4f}"
        rows.append([metric, f"{before:.4f}", f"{after:.4f}", f"{difference.mean:+.4f}", interval])
        rows[-1].append(f"{difference.p_value:.2g}")
    print_table(["held-out", "full document", "learned", "difference", "95 % interval", "p"], rows)
    gain = result.gain
    click.echo(
        f"gain in {gain.objective}: {gain.held_out:+.4f} held-out (p {gain.p_value:.2g}, permutation test "
        f"{gain.p_sign_flip:.2g}), {gain.validation:+.4f} on validation, {gain.corrected:+.4f} without the luck of "
        "having been chosen"
    )
    click.echo(
        f"{counted(result.adopted, 'program', 'programs')} adopted of {result.tried} tried, "
        f"{result.dropped} dropped early, {result.failed} failed; "
        f"index text {result.growth:.2f} times the corpus"
    )
    spent = ", ".join(f"{phase} {seconds:.1f}" for phase, seconds in result.seconds.items() if phase != "total")
    click.echo(
        f"{result.seconds['total']:.1f} seconds, {result.candidates_per_minute:.1f} candidates per minute "
        f"(time by phase, added up over candidates side by side: {spent})"
    )
    if result.llm:
        used = result.llm
        cost = "" if used["usd"] is None else f", {used['usd']:.4f} USD"
        click.echo(
            f"language model: {used['calls']} calls in {used['seconds']:.1f} seconds, {used['tokens']:,} tokens "
            f"({used['cached_tokens']:,} of them cached, {used['completion_tokens']:,} answers, "
            f"{used['reasoning_tokens']:,} of these reasoning){cost}"
        )
    click.echo(f"frozen component {result.component_sha256[:12]} in {result.frozen}")
