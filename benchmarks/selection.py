"""Does the guarded rule adopt luck, does it miss what is real, and are the corrected gains right?

    .venv/bin/python benchmarks/selection.py ../shared/datasets --collection cranfield --collection medquad_liveqa

The shape of the differences between programs is taken from real ones: each collection is searched by the rule of the
paper (or a finished run folder is read from ``--runs``), and the validation queries' scores of all its programs are
the pool. Held-out queries are not looked at. For each number of queries, whole runs of 10 rounds of 8 candidates and a
combination of the promising ones are drawn from the pool:

- **null**: queries are drawn with replacement, and the sign of each query's differences is changed at random, for
  all programs and metrics together. Wins and losses, ties, jumps and the likeness of variants stay; nothing is real.
  In every second run, half of each round are those most like the best so far, as a proposer would choose.
- **real**: in one of the first three rounds a program with a true gain takes part, drawn from the pool as well: signs
  are tilted so that its true gain in Recall@100 is twice what ``optimize`` states before a search that it can show.
- **corrected**: programs keep their own differences, so that each has the true gain that it has in the pool. The mean
  gain on the drawn queries, the corrected one and the true one are those of the first program adopted in a run.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np
from commands import run_json

from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.optimizer.correction import detectable_gain, luck_of_the_choice, luck_of_the_mark
from autoindex_haystack.optimizer.luck import LuckTest
from autoindex_haystack.runs import read_journal

ROUNDS, EACH = 10, 8
FLIPS = 2_000
NAMES = ("smooth_recall", "recall@100", "ndcg@10")


@dataclass(frozen=True)
class Pool:
    """Real programs' scores on validation queries.

    :param name: The collection.
    :param baseline: Smooth recall of the baseline, float64, shape (queries,).
    :param differences: float64, shape (metrics, programs, queries): programs minus baseline.
    """

    name: str
    baseline: np.ndarray
    differences: np.ndarray


@click.command()
@click.argument("datasets", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--collection", "names", multiple=True, default=("cranfield", "medquad_liveqa", "npl_vaswani"))
@click.option("--queries", "sizes", multiple=True, type=int, default=(25, 50, 150), show_default=True)
@click.option("--times", default=1000, show_default=True, help="Simulated runs for each line.")
@click.option("--runs", type=click.Path(path_type=Path), help="Where the searches are, or are kept.")
@click.option("--seed", default=0, show_default=True)
def main(
    datasets: Path, names: tuple[str, ...], sizes: tuple[int, ...], times: int, runs: Path | None, seed: int
) -> None:
    """Simulate whole runs with the shape of real programs on DATASETS."""
    runs = runs or Path(tempfile.mkdtemp(prefix="autoindex-runs-"))
    pools = [read_pool(datasets / name, runs / name) for name in names]
    click.echo("| pool | queries | null runs that adopt | stated gain | twice that is adopted |\n|---|---|---|---|---|")
    for pool in pools:
        for size in sizes:
            random = np.random.default_rng([seed, size])
            adopted = np.mean([null_run(pool, size, random, likely=bool(i % 2)) for i in range(times)])
            found, gains = zip(*(real_run(pool, size, random) for _ in range(times)), strict=True)
            click.echo(f"| {pool.name} | {size} | {adopted:.1%} | {np.mean(gains):.4f} | {np.mean(found):.1%} |")
    click.echo("\n| pool | queries | rule | adopting | stated gain | corrected | true |\n|---|---|---|---|---|---|---|")
    for pool in pools:
        for size in sizes:
            for rule in ("guarded", "paper"):
                random = np.random.default_rng([seed, size])
                outcomes = list(filter(None, (corrected_run(pool, size, random, rule) for _ in range(times // 4))))
                figures = " | ".join(f"{figure:+.4f}" for figure in np.mean(outcomes, axis=0)) if outcomes else "| |"
                click.echo(f"| {pool.name} | {size} | {rule} | {len(outcomes) / (times // 4):.0%} | {figures} |")


def read_pool(collection: Path, run: Path) -> Pool:
    """Search a collection by the paper's rule, unless that was done, and read the scores of all programs."""
    if not (run / "result.json").exists():
        run_json("optimize", collection, "--out", run, "--acceptance", "paper", "--iterations", 5, "--force")
    records = read_journal(run)
    scores = [record["scores"] for record in records if record["record"] == "evaluation"]
    table = np.array([[[values[name] for values in program.values()] for program in scores] for name in NAMES])
    return Pool(collection.name, table[0, 0], table[:, 1:] - table[:, :1])


def draw(pool: Pool, size: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw queries and give each a sign."""
    return random.integers(0, pool.differences.shape[2], size), random.choice([-1.0, 1.0], size)


def rounds(differences: np.ndarray, random: np.random.Generator, *, likely: bool) -> Iterator[list[int]]:
    """The programs of each round; with ``likely`` half of them are those most like the best so far."""
    smooth = differences[0]
    spread = smooth.std(axis=1) + 1e-12
    alike = np.corrcoef(smooth + random.normal(0, 1e-9, smooth.shape))
    tried: list[int] = []
    for _ in range(ROUNDS):
        left = random.permutation(len(smooth)).tolist()
        chosen = []
        if likely and tried:
            best = max(tried, key=lambda program: smooth[program].mean() / spread[program])
            chosen = sorted(set(left) - set(tried), key=lambda program: -alike[best, program])[: EACH // 2]
        chosen += [program for program in left if program not in chosen][: EACH - len(chosen)]
        tried += chosen
        yield chosen


def adopts(test: LuckTest, number: int, differences: np.ndarray) -> np.ndarray:
    """Which programs of a round are adopted by luck test and nDCG@10; the last one combines the promising ones."""
    promising = differences[1].mean(axis=1) >= 1e-5
    combined = [False] * len(promising)
    if promising.sum() > 1:
        joint = differences[:, promising].sum(axis=1, keepdims=True)
        differences, combined = np.concatenate([differences, joint], axis=1), [*combined, True]
    found = test.round(number, differences[0], combined)
    losses = -differences[2]
    worse = losses.mean(axis=1) > 1.645 * losses.std(axis=1, ddof=1) / losses.shape[1] ** 0.5
    return found.passed & (differences[1].mean(axis=1) >= 1e-5) & ~worse


def null_run(pool: Pool, size: int, random: np.random.Generator, *, likely: bool) -> bool:
    """Does a run in which nothing is real adopt anything?"""
    queries, signs = draw(pool, size, random)
    differences = pool.differences[:, :, queries] * signs
    test = LuckTest(size, ROUNDS, flips=FLIPS, seed=int(random.integers(1 << 30)))
    numbered = enumerate(rounds(differences, random, likely=likely), start=1)
    return any(adopts(test, number, differences[:, programs]).any() for number, programs in numbered)


def real_run(pool: Pool, size: int, random: np.random.Generator) -> tuple[bool, float]:
    """Is a program with twice the stated gain adopted? Also the stated gain."""
    queries, signs = draw(pool, size, random)
    scores = {str(i): {"smooth_recall": value} for i, value in enumerate(pool.baseline[queries])}
    stated = detectable_gain(SimpleNamespace(scores=scores), SearchSettings())  # type: ignore[arg-type]
    differences = pool.differences[:, :, queries] * signs
    # With this orientation of each query, the gain in Recall@100 that a program has when all signs are kept.
    along = pool.differences * np.sign(pool.differences[0])
    reach = along[1].mean(axis=1)
    able = np.flatnonzero(reach >= 2 * stated)
    program = int(random.choice(able)) if len(able) else int(reach.argmax())
    tilt = min(1.0, 2 * stated / reach[program])
    kept = np.where(random.random(size) < (1 + tilt) / 2, 1.0, -1.0)
    real = along[:, program, queries] * kept
    # What no program of the pool can reach is added to queries that still can gain.
    if missing := max(0.0, 2 * stated - reach[program]):
        real = real + missing * random.exponential(1, size)
    test = LuckTest(size, ROUNDS, flips=FLIPS, seed=int(random.integers(1 << 30)))
    place = int(random.integers(1, 4))
    for number, programs in enumerate(rounds(differences, random, likely=False), start=1):
        tried = differences[:, programs]
        if number == place:
            tried = np.concatenate([real[:, None], tried[:, 1:]], axis=1)
        if number == place:
            return bool(adopts(test, number, tried)[0]), stated
        adopts(test, number, tried)
    return False, stated


def corrected_run(pool: Pool, size: int, random: np.random.Generator, rule: str) -> tuple[float, float, float] | None:
    """The first adopted program's mean gain, its corrected one and its true one."""
    queries, _ = draw(pool, size, random)
    differences = pool.differences[:, :, queries]
    test = LuckTest(size, ROUNDS, flips=FLIPS, seed=int(random.integers(1 << 30)))
    for number, programs in enumerate(rounds(differences, random, likely=False), start=1):
        smooth, recall = differences[0, programs], differences[1, programs]
        means = recall.mean(axis=1)
        found = test.round(number, smooth)
        able = np.flatnonzero((means >= 1e-5) & (found.passed | (rule == "paper")))
        if not len(able):
            continue
        best = able[means[able].argmax()]
        luck = luck_of_the_choice(recall[able] if rule == "guarded" else recall)
        if rule == "guarded":
            luck += luck_of_the_mark(recall[best], smooth[best], found.statistics[best], found.mark)
        return float(means[best]), float(means[best] - luck), float(pool.differences[1, programs[best]].mean())
    return None


if __name__ == "__main__":
    main()
