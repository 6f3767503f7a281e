"""Input at the edges that is no error: long, empty, foreign."""

import json

import pytest


def _ids(finished) -> list[str]:
    return [result["id"] for result in json.loads(finished.succeeded().out)["results"]]


@pytest.mark.parametrize("backend", ["bm25s", "lucene"])
def test_hard_queries_work_on_both_engines(backend, kitchen, out, here):
    here("index", kitchen, "--backend", backend, "--out", out / "index").succeeded()
    assert _ids(here("search", out / "index", "the and of", "--json")) == []
    assert _ids(here("search", out / "index", "", "--json")) == []
    long_query = "knives whetstone " + " ".join(f"word{i}" for i in range(5_000))
    assert set(_ids(here("search", out / "index", long_query, "--json"))) == {"0012", "0014"}
    everything = _ids(
        here("search", out / "index", "bread knife egg rice water oil salt", "--top-k", 100_000, "--json")
    )
    assert 10 < len(everything) <= 40


def test_a_document_of_20_megabytes_is_evaluated_and_indexed(kitchen, out, here):
    with (kitchen / "corpus.jsonl").open("a", encoding="utf-8") as corpus:
        corpus.write(json.dumps({"_id": "big", "text": "flour and water zwieback " * 800_000}) + "\n")
    figures = here("evaluate", kitchen, "--backend", "lucene", "--json").succeeded()
    assert json.loads(figures.out)["documents"] == 41
    here("index", kitchen, "--out", out / "index").succeeded()
    [line] = here("search", out / "index", "zwieback").succeeded().out.splitlines()
    assert len(line) < 200
