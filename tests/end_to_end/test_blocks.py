"""`autoindex index --engine local` and `--sink` as a user types them; Ray has its own slow tests."""

import json

import pytest

from autoindex_haystack.frozen import ComponentSettings, new_manifest, write_frozen
from autoindex_haystack.program import builtin_program
from autoindex_haystack.retrieval import get_backend
from tests.components.cluster import Node


@pytest.fixture
def frozen(tmp_path):
    program = builtin_program("full_document")
    return write_frozen(tmp_path / "frozen", new_manifest(program, {}, ComponentSettings()), program, {}).path


def test_a_corpus_is_indexed_in_blocks_and_the_job_goes_on(kitchen, frozen, out, here):
    arguments = ("index", kitchen, "--component", frozen, "--engine", "local", "--workers", 1, "--out", out / "job")
    made = json.loads(here(*arguments, "--json").succeeded().out)
    assert (made["documents"], made["chunks"], made["blocks"], made["resumed"]) == (40, 40, 1, 0)
    assert (made["engine"], made["backend"]) == ("local", "bm25s")
    with get_backend("bm25s").load(out / "job" / "index") as index:
        assert len(index) == 40
    here("index", kitchen, "--component", frozen, "--out", out / "whole").succeeded()
    queries = ("--queries", kitchen / "queries.jsonl", "--run-file")
    for name in ("job", "whole"):
        here("search", out / name, *queries, out / f"{name}.run").succeeded()
    assert (out / "job.run").read_text() == (out / "whole.run").read_text() != ""
    one, other = (json.loads(here("search", out / n, "fermented cabbage", "--json").out) for n in ("job", "whole"))
    assert one["results"] == other["results"] != []
    again = here(*arguments).succeeded().out
    assert "40 documents as 40 chunks" in again
    assert "1 blocks (1 of them finished before)" in again
    here(*arguments, "--k1", 2).failed(2, "holds another job", "--force")


def test_a_cluster_is_loaded_and_only_asked_for_indexes_are_built(kitchen, frozen, out, here):
    node = Node()
    arguments = ("index", kitchen, "--component", frozen, "--out", out / "job", "--sink", "opensearch")
    made = json.loads(here(*arguments, "--url", node.url, "--workers", 1, "--json").succeeded().out)
    node.close()
    [name] = node.indexes
    assert made["sink"] == {"kind": "opensearch", "url": node.url, "index": name}
    assert (made["backend"], made["loaded"], len(node.indexes[name].documents)) == (None, 40, 40)
    assert not (out / "job" / "index").exists()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--shards", "2"], "--shards goes with --engine"),
        (["--engine", "local", "--address", "auto"], "--address goes with --engine ray"),
        (["--engine", "local", "--shards", "2"], "--backend lucene"),
        (["--sink", "opensearch"], "needs the cluster's --url"),
        (["--sink", "opensearch", "--url", "localhost"], "needs the cluster's --url"),
        (
            ["--sink", "opensearch", "--url", "https://me:secret@localhost"],
            "OPENSEARCH_USERNAME and OPENSEARCH_PASSWORD",
        ),
        (["--url", "https://localhost"], "--url goes with --sink"),
    ],
)
def test_options_that_do_not_fit_are_wrong_use(kitchen, frozen, out, here, options, part):
    done = here("index", kitchen, "--component", frozen, "--out", out / "job", *options).failed(2, part)
    assert "secret" not in done.err
    assert not (out / "job").exists()


def test_blocks_need_a_frozen_component_and_a_corpus(kitchen, frozen, out, here):
    here("index", kitchen, "--engine", "local", "--out", out / "job").failed(2, "needs a frozen component")
    here("index", kitchen, kitchen, "--component", frozen, "--out", out / "x").failed(2, "more than one CORPUS")
    here("index", kitchen, "--component", frozen, "--out", "s3://bucket/x").failed(2, "URLs", "go with --engine")
    here("index", "s3://bucket/x", "--component", frozen, "--out", out / "x").failed(2, "URLs", "go with --engine")
    missing = kitchen / "missing.jsonl"
    here("index", missing, "--component", frozen, "--engine", "local", "--out", out / "job").failed(
        2, "holds no corpus"
    )
    here("index", kitchen, "--component", frozen, "--engine", "local", "--out", kitchen).failed(2, "would replace")
