"""A search that was interrupted anywhere ends as it would have ended, and does nothing twice."""

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from autoindex_haystack import load_frozen, optimize, resume
from autoindex_haystack.evaluation import Evaluator
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.proposers import SearchEnded
from autoindex_haystack.runs import journal as journals
from autoindex_haystack.runs import read_journal, read_result

from .scripted import BOTH, BROKEN, MORE_STEMS, SAME, STEMS, WORSE, Scripted

ROUNDS = [SAME, BROKEN, STEMS, STEMS, MORE_STEMS], [WORSE, BROKEN, STEMS, "doc.text * 2"]
LATE = f"{BOTH} + (str(hash(doc.text)) if doc.text.endswith('other9') else '')"


class Killed(BaseException):
    """The process is gone."""


class Counting(Scripted):
    """Remembers more than the history, and ends early."""

    def __init__(self, *rounds, combination=None):
        super().__init__(*rounds, combination=combination)
        self.asked = []

    def propose(self, state):
        self.asked.append(state.iteration)
        if state.iteration > len(self._rounds):
            raise SearchEnded("nothing is left")
        return super().propose(state)

    def combine(self, state, improvements):
        self.asked.append(-state.iteration)
        return super().combine(state, improvements)

    def memory(self):
        return {"asked": self.asked}

    def remember(self, memory):
        self.asked = list(memory["asked"])


def settings(**changes):
    return SearchSettings(**{"iterations": 3, "candidates": 8, "acceptance": "paper", "max_growth": 9.0} | changes)


def proposer():
    return Counting(*ROUNDS, combination=BOTH)


def plain(record):
    return {name: value for name, value in record.items() if not name.endswith("seconds")}


def essence(run: Path):
    """All that must be equal."""
    result = read_result(run).model_dump(mode="json")
    for name in ("seconds", "candidates_per_minute", "frozen", "pareto"):
        del result[name]
    programs = {path.name: path.read_bytes() for path in (run / "programs").iterdir()}
    return (
        [plain(record) for record in read_journal(run)],
        result,
        programs,
        load_frozen(run / "frozen").manifest.sha256,
    )


@pytest.fixture
def evaluated(monkeypatch):
    """Counts which programs are evaluated on how many queries, and run again."""
    counts = Counter()
    evaluate, check_again = Evaluator.evaluate, Evaluator.check_again

    def spy(self, program, queries, **options):
        found = evaluate(self, program, queries, **options)
        counts[program.sha256, len(queries)] += 1
        return found

    def spy_again(self, program, before):
        counts[program.sha256, "again"] += 1
        check_again(self, program, before)

    monkeypatch.setattr(Evaluator, "evaluate", spy)
    monkeypatch.setattr(Evaluator, "check_again", spy_again)
    return counts


@pytest.fixture(scope="module")
def unbroken(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("unbroken")
    for stage_size in (None, 100):
        optimize(folder, out / str(stage_size), settings=settings(stage_size=stage_size), proposer=proposer())
    return out


def killed_before(monkeypatch, record):
    """End the process, as it were, when so many records are on disk."""
    append = journals.Journal.append

    def limited(self, *arguments):
        path = self._run / "journal.jsonl"
        if path.exists() and path.read_bytes().count(b"\n") == record and not self._known:
            raise Killed
        append(self, *arguments)

    monkeypatch.setattr(journals.Journal, "append", limited)


@pytest.mark.parametrize("stage_size", [None, 100])
def test_a_search_that_is_killed_at_any_record_ends_as_if_it_had_not_been(
    folder, tmp_path, unbroken, evaluated, stage_size
):
    """Each time it comes one record further, with another number of jobs; in the end nothing was evaluated twice."""
    expected = essence(unbroken / str(stage_size))
    out = tmp_path / "run"
    how = settings(stage_size=stage_size)
    for n in range(2 if stage_size else 3, len(expected[0]), 2):
        with pytest.MonkeyPatch.context() as patch:
            killed_before(patch, n)
            begin = partial(optimize, folder, out, settings=how, proposer=proposer())
            go_on = partial(resume, out, proposer=proposer(), jobs=1 + n % 3, workers=2)
            with pytest.raises(Killed):
                (go_on if out.exists() else begin)()
    who = proposer()
    resume(out, proposer=who)
    assert essence(out) == expected
    assert who.asked == [1, -1, 2, 3]
    # What was killed between its end and its record is done once more.
    assert {key for key, times in evaluated.items() if times > 1} <= {key for key in evaluated if key[1] == "again"}
