"""Do whole runs of the built-in proposer adopt luck? It forecasts on the very queries on which the gate then decides.

    .venv/bin/python benchmarks/null_runs.py ../shared/datasets --collection cranfield --times 100

In each run the relevant documents of every query are drawn anew, at random from the whole corpus, as many as it has.
No program can be better at finding what chance has chosen: as every text gets a word that every query has, all
documents are ranked for each query, and whatever the order is, the expected metrics are the same. The proposer, its
forecasts, its bundles and combinations and the guarded rule are the real ones, with 10 rounds of 8 candidates. Corpora
are small, so that forecasts are exact: nothing could choose candidates by luck more thoroughly. Programs run in this
process, without isolation, and each one once: what it ranks does not depend on what is judged.

A run ends when it adopts anything. At most one in twenty may.
"""

import random
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import click
import numpy as np

from autoindex_haystack.collection import Collection, load_collection
from autoindex_haystack.evaluation import SMOOTH_RECALL, Evaluation, means
from autoindex_haystack.evaluation.diagnosis import Diagnosis, QueryPostings, count_terms
from autoindex_haystack.evaluation.metrics import DEPTH, METRICS, ideal_dcg, smooth_gains
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.optimizer.acceptance import acceptance_rule
from autoindex_haystack.optimizer.selection import compare
from autoindex_haystack.program import builtin_program, check_source
from autoindex_haystack.proposers import Candidate, CollectionView, Outcome, ProposerState
from autoindex_haystack.proposers.builtin import BuiltinProposer
from autoindex_haystack.proposers.builtin.reading import read_recipe
from autoindex_haystack.proposers.builtin.recipe import Recipe
from autoindex_haystack.proposers.builtin.trusted import load_trusted
from autoindex_haystack.retrieval import BM25Settings, ChunkTable

EVERYWHERE = "everywhereword"


class World:
    """A small corpus with queries, of which every program is run once.

    :param collection: The collection that they are taken from.
    :param size: How many documents.
    """

    def __init__(self, collection: Collection, size: int) -> None:
        chosen = sorted(random.Random(size).sample(range(len(collection.documents)), size))
        documents = [collection.documents[i] for i in chosen]
        self.documents = [replace(d, text=f"{d.text} {EVERYWHERE}") for d in documents]
        self.queries = {query: f"{text} {EVERYWHERE}" for query, text in collection.queries.items()}
        self.judged = {q: sum(g > 0 for g in grades.values()) for q, grades in collection.qrels.items()}
        self.settings = BM25Settings()

        self._ranks: dict[Recipe, tuple[np.ndarray, float]] = {}
        self._queries = {query: i for i, query in enumerate(self.queries)}

    def postings(self, recipe: Recipe) -> QueryPostings:
        """What a program makes of the corpus."""
        program = load_trusted(recipe)
        program.state = program.calibrate(self.documents)
        made = [
            (i, chunk.text)
            for i, document in enumerate(self.documents)
            for chunk in program.preprocess([replace(document, doc_id=str(i))])
        ]
        owners, texts = zip(*made, strict=True)
        ids = [document.doc_id for document in self.documents]
        chunks = ChunkTable(texts, np.array(owners, np.int64), ids)
        return count_terms(chunks, self.queries.values(), self.settings)

    def ranks(self, recipe: Recipe) -> tuple[np.ndarray, float]:
        """Each document's rank for each query, from 1, 0 where it is not found, and the growth of the index."""
        if recipe not in self._ranks:
            postings = self.postings(recipe)
            table = np.zeros((len(self.queries), len(self.documents)), np.int64)
            for row, text in zip(table, self.queries.values(), strict=True):
                found = postings.rank(text, len(row)).ordinals
                row[found] = np.arange(1, len(found) + 1)
            self._ranks[recipe] = table, float(postings.postings.lengths.sum()) / self._tokens
        return self._ranks[recipe]

    @cached_property
    def _tokens(self) -> float:
        return float(self.postings(Recipe()).postings.lengths.sum())

    def evaluate(self, sha256: str, recipe: Recipe, qrels: dict[str, dict[str, int]]) -> Evaluation:
        """Score a program on the queries that are judged."""
        table, growth = self.ranks(recipe)
        place = {document.doc_id: i for i, document in enumerate(self.documents)}
        scores, rankings = {}, {}
        for query, grades in qrels.items():
            row = table[self._queries[query]]
            ranks = row[[place[document] for document in grades]]
            inside = (ranks > 0) & (ranks <= 10)
            gain = float((1 / np.log2(ranks[inside] + 1)).sum()) / ideal_dcg(grades.values())
            recall = float(((ranks > 0) & (ranks <= DEPTH)).mean())
            smooth = float(smooth_gains(ranks).mean())
            scores[query] = {**dict.fromkeys(METRICS, gain), "recall@100": recall, SMOOTH_RECALL: smooth}
            first = np.flatnonzero((row > 0) & (row <= DEPTH))
            first = first[np.argsort(row[first])]
            rankings[query] = [(self.documents[i].doc_id, float(-row[i])) for i in first.tolist()]
        size = round(growth * 1e6)
        return Evaluation(sha256, scores, means(scores), 1, size, growth, (), {}, rankings)


def adopting_round(world: World, size: int, seed: int) -> int | None:
    """Do a run in which chance has chosen what is relevant.

    :param world: The corpus.
    :param size: How many validation queries.
    :param seed: Seed of the queries, of what is relevant, and of the run.
    :returns: The round in which it adopts something; None when it never does.
    """
    draw = random.Random(seed)
    chosen = sorted(draw.sample(sorted(world.queries), size))
    ids = [document.doc_id for document in world.documents]
    qrels = {query: dict.fromkeys(draw.sample(ids, min(20, world.judged[query])), 1) for query in chosen}
    queries = {query: world.queries[query] for query in chosen}
    settings = SearchSettings(seed=seed)
    rule = acceptance_rule(settings, size)
    program = builtin_program("full_document")
    baseline = world.evaluate(program.sha256, Recipe(), qrels)
    diagnosis = Diagnosis(world.postings(Recipe()), world.documents, queries, qrels)
    view = CollectionView(world.documents, queries, qrels, world.settings.analyzer)
    proposer, history = BuiltinProposer(), ()

    def try_out(candidate: Candidate, iteration: int, *, combined: bool = False) -> Outcome:
        recipe = read_recipe(candidate.source)
        assert recipe
        evaluation = world.evaluate(candidate.sha256, recipe, qrels)
        return compare(Outcome(iteration, candidate, combined=combined), evaluation, baseline, settings.objective)

    for iteration in range(1, settings.iterations + 1):
        state = ProposerState(
            seed=seed,
            iteration=iteration,
            number=settings.candidates,
            collection=view,
            incumbent=program,
            evaluation=baseline,
            baseline=baseline,
            history=history,
            check=lambda source: [str(problem) for problem in check_source(source, ())],
            diagnosis=lambda: diagnosis,
            objective=settings.objective,
            max_growth=settings.growth_limit,
        )
        outcomes = [try_out(candidate, iteration) for candidate in proposer.propose(state)]
        better = rule.promising(outcomes, baseline)
        known = replace(state, history=(*history, *outcomes))
        if len(better) > 1 and (candidate := proposer.combine(known, better)):
            outcomes.append(try_out(candidate, iteration, combined=True))
        if any(verdict.accepted for verdict in rule.decide(iteration, outcomes, baseline)):
            return iteration
        history = (*history, *outcomes)
    return None


@click.command()
@click.argument("datasets", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--collection", "names", multiple=True, default=("cranfield", "debian_blends"), show_default=True)
@click.option("--queries", "sizes", multiple=True, type=int, default=(25, 50, 150), show_default=True)
@click.option("--documents", default=300, show_default=True, help="Documents of a corpus.")
@click.option("--times", default=100, show_default=True, help="Runs for each line.")
@click.option("--seed", default=0, show_default=True, help="Seed of the first run; the others follow.")
def main(datasets: Path, names: tuple[str, ...], sizes: tuple[int, ...], documents: int, times: int, seed: int) -> None:
    """Do whole runs on parts of DATASETS in which nothing is real."""
    from scipy import stats

    click.echo("| corpus | queries | runs | adopting | 95 % interval | in round |\n|---|---|---|---|---|---|")
    for name in names:
        world = World(load_collection(datasets / name), documents)
        for size in sizes:
            found = [adopting_round(world, size, seed + i) for i in range(times)]
            rounds = [number for number in found if number is not None]
            low, high = stats.binomtest(len(rounds), times).proportion_ci(method="wilson")
            share = f"{len(rounds) / times:.1%} | {low:.1%} to {high:.1%}"
            click.echo(f"| {name} | {size} | {times} | {share} | {', '.join(map(str, sorted(rounds)))} |")


if __name__ == "__main__":
    main()
