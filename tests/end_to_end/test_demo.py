"""The demo: quickly on the small collection, and in full as `make demo` runs it."""

import json
import shutil
from functools import partial

import pytest

from autoindex_haystack.cli import checks
from autoindex_haystack.optimizer import SearchSettings


@pytest.fixture
def small(monkeypatch, kitchen):
    """Let the demo work on the small collection, with a short search."""
    monkeypatch.setattr(
        "autoindex_haystack.experiments.demo.write_collection",
        lambda folder: shutil.copytree(kitchen, folder),
    )
    monkeypatch.setattr(
        "autoindex_haystack.optimizer.SearchSettings", partial(SearchSettings, iterations=1, candidates=2)
    )


def test_the_demo_learns_and_asks_both_engines(small, out, here):
    done = here("demo", "--out", out / "demo").succeeded()
    assert done.err == ""
    for line in (
        "held-out ",
        "frozen component",
        "  bm25s ",
        "  lucene ",
        "first right answer",
        "Ask more: autoindex search",
    ):
        assert line in done.out
    assert sorted(path.name for path in (out / "demo").iterdir()) == ["baseline", "collection", "run"]
    assert here("search", out / "demo/run/frozen/index-lucene", "rye bread").succeeded().out.split()[2] == "0004"


def test_the_demo_goes_on_without_lucene(small, out, here, monkeypatch):
    missing = checks.Check("lucene engine", checks.MISSING, "no Java", "pip install something", required=False)
    monkeypatch.setattr(checks, "check_engine", lambda *_, **__: missing)
    report = json.loads(here("demo", "--out", out / "demo", "--json").succeeded().out)
    assert list(report["engines"]) == ["bm25s"]
    assert report["lucene"] == "Lucene is left out (no Java); mend it with: pip install something"
    before, after = (report["engines"]["bm25s"][name]["recall@100"] for name in ("before", "after"))
    assert before == pytest.approx(report["result"]["baseline"]["held_out"]["recall@100"])
    assert after == pytest.approx(report["result"]["learned"]["held_out"]["recall@100"])


def test_a_demo_that_fails_leaves_nothing(out, here, monkeypatch, kitchen):
    (kitchen / "qrels.tsv").unlink()
    monkeypatch.setattr(
        "autoindex_haystack.experiments.demo.write_collection",
        lambda folder: shutil.copytree(kitchen, folder),
    )
    here("demo", "--out", out / "demo").failed(2, "has no judgments")
    assert list(out.iterdir()) == []


@pytest.mark.full
def test_the_real_demo_raises_recall(out, autoindex):
    report = json.loads(autoindex("demo", "--out", out / "demo", "--json").succeeded().out)
    result = report["result"]
    assert result["documents"] > 3_000
    assert sum(result["queries"].values()) >= 150
    assert result["learned"]["held_out"]["recall@100"] > result["baseline"]["held_out"]["recall@100"]
    assert set(report["engines"]) == {"bm25s", "lucene"}
