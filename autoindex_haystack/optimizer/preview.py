"""The agents' prompts as they are sent for a collection, before anything is sent."""

from pathlib import Path
from typing import Any

from autoindex_haystack.collection import Collection, Split, load_split, make_split
from autoindex_haystack.evaluation import Evaluator
from autoindex_haystack.optimizer.selection import compare
from autoindex_haystack.optimizer.settings import SearchSettings
from autoindex_haystack.program import builtin_program, check_source
from autoindex_haystack.proposers import Candidate, CollectionView, Outcome, ProposerState
from autoindex_haystack.proposers.agents import AgentSettings
from autoindex_haystack.proposers.agents.preview import filled_prompts


def preview_prompts(
    collection: Collection,
    agents: AgentSettings,
    *,
    settings: SearchSettings = SearchSettings(),  # noqa: B008 - frozen
    split: Split | Path | None = None,
    split_seed: int = 0,
) -> dict[str, str]:
    """Fill the agents' prompts for a collection.

    The baseline is evaluated, and the built-in program ``passages`` stands for what was tried in an iteration before.

    :param collection: The collection.
    :param agents: How the agents work.
    :param settings: How the search is done.
    :param split: The split of the queries, or its file; made with ``split_seed`` when not given.
    :param split_seed: Seed of the split.
    :returns: The texts by the prompts' names.
    """
    if split is None:
        split = make_split(collection, split_seed)
    elif isinstance(split, Path):
        split = load_split(split, collection)
    how: dict[str, Any] = {"backend": settings.backend, "limits": settings.limits, "workers": settings.workers}
    with Evaluator(collection, settings.bm25, isolation=settings.isolation, **how) as evaluator:
        baseline, other = builtin_program("full_document"), builtin_program("passages")
        evaluation = evaluator.evaluate(baseline, split.validation)
        candidate = Candidate(other.source, "passages of some hundred words", parents=(baseline.sha256,))
        tried = compare(
            Outcome(1, candidate), evaluator.evaluate(other, split.validation), evaluation, settings.objective
        )
    state = ProposerState(
        seed=settings.seed,
        iteration=2,
        number=settings.candidates,
        collection=CollectionView(
            documents=collection.documents,
            queries={query: collection.queries[query] for query in split.validation},
            qrels={query: collection.qrels[query] for query in split.validation},
            analyzer=settings.bm25.analyzer,
        ),
        incumbent=baseline,
        evaluation=evaluation,
        baseline=evaluation,
        history=(tried,),
        check=lambda source: [str(problem) for problem in check_source(source, settings.allowed_imports)],
        objective=settings.objective,
        max_growth=settings.growth_limit,
    )
    return filled_prompts(state, agents)
