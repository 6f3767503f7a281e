"""The main job on a small collection: split, learn, freeze, verify, index, search, compare."""

import json
import shutil
from pathlib import Path

import pytest
from haystack import Pipeline

from haystack_integrations.components.retrievers.autoindex import RepresentationRetriever
from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore, LuceneDocumentStore

SMALL = ("--iterations", 1, "--candidates", 2, "--workers", 1)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory, autoindex) -> Path:
    folder = tmp_path_factory.mktemp("learned")
    kitchen = shutil.copytree(Path(__file__).parent / "kitchen", folder / "kitchen")
    autoindex("optimize", kitchen, "--out", folder / "run", *SMALL).succeeded()
    return folder / "run"


def _ids(finished) -> list[str]:
    return [result["id"] for result in json.loads(finished.succeeded().out)["results"]]


def test_optimize_writes_the_run_folder_and_prints_its_result(kitchen, out, autoindex):
    done = autoindex("optimize", kitchen, "--out", out / "run", *SMALL, "--json").succeeded()
    result = json.loads(done.out)
    assert Path(result.pop("report")) == out / "run" / "report.html"
    assert result == json.loads((out / "run" / "result.json").read_text())
    assert {"run.json", "journal.jsonl", "split.json", "programs", "frozen", "report.html"} <= {
        p.name for p in (out / "run").iterdir()
    }
    assert set(result["baseline"]) == set(result["learned"]) == {"validation", "held_out"}
    assert result["queries"] == {"validation": 4, "held_out": 8}
    assert Path(result["frozen"]) == out / "run" / "frozen"


def test_a_search_without_success_names_what_tells_why(kitchen, out, here):
    done = here("optimize", kitchen, "--out", out / "run", "--iterations", 0).succeeded()
    assert done.out.splitlines()[-1].endswith(f"autoindex explain {out / 'run'}")
    here("explain", out / "run").succeeded()


def test_a_run_reuses_a_split_and_gives_its_own(kitchen, out, autoindex, here):
    autoindex("split", kitchen, "--split-seed", 7, "--out", out / "split.json").succeeded()
    here("optimize", kitchen, "--split", out / "split.json", "--out", out / "run", *SMALL).succeeded()
    kept = json.loads((out / "run" / "split.json").read_text())
    assert kept == json.loads((out / "split.json").read_text())
    figures = here("evaluate", kitchen, "--split", out / "run", "--queries", "held-out", "--json").succeeded()
    assert json.loads(figures.out)["queries"] == len(kept["held_out"]) == 8


def test_verify_says_what_was_changed(run_folder, tmp_path, autoindex, here):
    frozen = run_folder / "frozen"
    assert "is unchanged" in autoindex("verify", frozen).succeeded().out
    assert json.loads(here("verify", frozen, "--json").succeeded().out)["problems"] == []

    moved = Path(shutil.copytree(frozen, tmp_path / "moved"))
    done = here("verify", moved)
    assert done.code == 1
    assert "query.yaml was changed or names another place" in done.err
    report = here("verify", moved, "--json")
    assert report.code == 1
    assert json.loads(report.out)["ok"] is False
    here("verify", moved, "--relocate").succeeded()
    here("verify", moved).succeeded()
    assert str(moved) in (moved / "query.yaml").read_text()

    with (moved / "program.py").open("a") as program:
        program.write("# changed\n")
    here("verify", moved).failed(1, "program.py was changed since it was frozen")
    report = here("verify", moved, "--json")
    assert report.code == 1
    assert "program.py was changed" in json.loads(report.out)["problems"][0]


@pytest.mark.parametrize(("backend", "store"), [("bm25s", Bm25sDocumentStore), ("lucene", LuceneDocumentStore)])
def test_an_index_is_what_haystack_opens(backend, store, run_folder, kitchen, out, autoindex, here):
    index = out / "index"
    arguments = ("index", kitchen, "--component", run_folder / "frozen", "--backend", backend, "--out", index, "--json")
    built = json.loads(autoindex(*arguments).succeeded().out)
    assert built["documents"] == 40
    assert sorted(path.name for path in out.iterdir()) == ["index"]

    results = json.loads(here("search", index, "fermented cabbage", "--json").succeeded().out)["results"]
    assert results[0]["id"] == "0026"
    assert results[0]["title"] == "Sauerkraut"
    assert "Shred cabbage" in results[0]["content"]

    retriever = RepresentationRetriever(store(str(index)))
    found = retriever.run(query="fermented cabbage")["documents"]
    assert [document.id for document in found] == [result["id"] for result in results]
    assert [document.score for document in found] == pytest.approx([result["score"] for result in results])


def test_an_index_with_a_plain_program_holds_that_program(kitchen, out, here):
    here("index", kitchen / "corpus.jsonl", "--program", "builtin:passages", "--out", out / "index").succeeded()
    here("verify", out / "index" / "component").succeeded()
    manifest = json.loads((out / "index" / "component" / "manifest.json").read_text())
    built = here("index", kitchen, "--component", out / "index" / "component", "--out", out / "again", "--json")
    assert json.loads(built.succeeded().out)["component_sha256"] == manifest["sha256"]
    assert _ids(here("search", out / "again", "rye", "--json")) == _ids(here("search", out / "index", "rye", "--json"))


def test_the_emitted_pipelines_find_what_the_index_finds(run_folder, kitchen, out, here):
    from autoindex_haystack.cli.stores import haystack_documents
    from autoindex_haystack.collection import load_corpus
    from autoindex_haystack.experiments.demo.ask import ask, index_documents

    frozen = run_folder / "frozen"
    here("index", kitchen, "--component", frozen, "--out", out / "index").succeeded()
    index_documents(frozen, "bm25s", haystack_documents(load_corpus(kitchen)))
    [found] = ask(frozen, "bm25s", ["a dull knife"])
    assert [document.id for document in found] == _ids(here("search", out / "index", "a dull knife", "--json"))
    with (frozen / "query.yaml").open() as file:
        assert Pipeline.load(file).run({"retriever": {"query": "knife"}})["retriever"]["documents"]


def test_search_shows_originals_with_the_passage_that_matched(kitchen, out, autoindex, here):
    here("index", kitchen, "--out", out / "index").succeeded()
    done = autoindex("search", out / "index", "a pinch of sugar", "--top-k", 1).succeeded()
    first, passage = done.out.splitlines()
    assert first.split()[0] == "1"
    assert "0020  Tomato sauce" in first
    assert "A pinch of sugar takes the acid edge off" in passage
    assert "no document matches" in here("search", out / "index", "the of and").succeeded().out
    assert _ids(here("search", out / "index", "味噌汁", "--json")) == ["0035"]
    assert _ids(here("search", out / "index", "Свёклу тушат", "--json")) == ["0036"]


def test_a_file_of_queries_gives_the_run_file_of_evaluate(kitchen, out, here):
    here("index", kitchen, "--out", out / "index").succeeded()
    queries = ("--queries", kitchen / "queries.jsonl")
    here("search", out / "index", *queries, "--run-file", out / "search.trec").succeeded()
    here("evaluate", kitchen, "--run-file", out / "evaluate.trec").succeeded()
    assert (out / "search.trec").read_text() == (out / "evaluate.trec").read_text()
    rows = [line.split() for line in (out / "search.trec").read_text().splitlines()]
    assert {(len(row), len(row[2])) for row in rows} == {(6, 4)}
    assert rows[0][:4] == ["q01", "Q0", "0004", "1"]


def test_crosscheck_explains_every_difference(kitchen, out, autoindex):
    done = autoindex("crosscheck", kitchen, "--json", "--out", out / "differences.json").succeeded()
    report = json.loads(done.out)
    assert report["queries"] == 12
    assert report["identical_top100_modelled"] + report["rounding"] == 12
    assert report["unexplained"] == 0
    assert report["max_relative_difference_modelled"] <= 1e-5
    assert 0.9 < report["overlap@100_plain"] <= 1
    assert set(report["metrics"]) == {"bm25s", "lucene"}
    assert {"bm25s", "pyserini", "anserini", "lucene"} <= set(report["versions"])
    details = json.loads((out / "differences.json").read_text())
    assert set(details["by_query"]) == {f"q{i:02}" for i in range(1, 13)}


def test_a_crosscheck_of_a_frozen_component_leaves_a_certificate_that_verify_reads(kitchen, out, autoindex):
    autoindex("optimize", kitchen, "--out", out / "run", *SMALL).succeeded()
    frozen = out / "run" / "frozen"
    autoindex("crosscheck", kitchen, "--program", frozen).succeeded()
    certificate = json.loads((frozen / "parity.json").read_text())
    assert certificate["program_sha256"] == json.loads((frozen / "manifest.json").read_text())["program_sha256"]
    assert json.loads(autoindex("verify", frozen, "--json").succeeded().out)["warnings"] == []
    certificate["versions"]["bm25s"] = "0.0.1"
    (frozen / "parity.json").write_text(json.dumps(certificate))
    done = autoindex("verify", frozen).succeeded()
    assert "bm25s 0.0.1" in done.err


def test_settings_are_kept_with_the_index_and_checked(kitchen, out, here):
    here("index", kitchen, "--k1", "0.9", "--b", "0.4", "--out", out / "index").succeeded()
    assert _ids(here("search", out / "index", "knives", "--json")) == ["0014", "0012"]
    component = json.loads((out / "index" / "component" / "manifest.json").read_text())
    assert component["settings"]["bm25"] == {"k1": 0.9, "b": 0.4, "analyzer": "bm25s"}


def test_metadata_reaches_a_program_only_when_it_is_named(kitchen, tmp_path, here):
    program = tmp_path / "program.py"
    program.write_text(
        "from autoindex_haystack.program import BasePreprocessor, Chunk\n"
        "class Preprocessor(BasePreprocessor):\n"
        "    def preprocess(self, docs):\n"
        "        return [Chunk('0', d.doc_id, d.text + ' ' + d.metadata['section']) for d in docs]\n"
    )
    here("evaluate", kitchen, "--program", program).failed(1, "raised KeyError at document 0001")
    here("evaluate", kitchen, "--program", program, "--metadata-fields", "section", "--json").succeeded()
    here("evaluate", kitchen, "--metadata-fields", "no-such-field").failed(2, "'no-such-field'", "--metadata-fields")
