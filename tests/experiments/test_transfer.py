"""Programs that were learned elsewhere, on another collection: what the table says, also where they fail."""

import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from autoindex_haystack import load_collection, load_frozen, optimize
from autoindex_haystack.cli.main import main
from autoindex_haystack.collection import make_split
from autoindex_haystack.evaluation import evaluate, paired_difference
from autoindex_haystack.experiments.grid.summary import holm
from autoindex_haystack.experiments.transfer import transfer
from autoindex_haystack.optimizer import SearchSettings

KITCHEN = Path(__file__).resolve().parents[1] / "end_to_end" / "kitchen"
NO_SEARCH = SearchSettings(iterations=0)

COUNTS = """
from autoindex_haystack.program import BasePreprocessor, Chunk

class Preprocessor(BasePreprocessor):
    def calibrate(self, docs):
        return {"documents": sum(1 for _ in docs)}

    def preprocess(self, docs):
        text = "tea" if self.state["documents"] > 30 else ""
        return [Chunk("0", doc.doc_id, f"{doc.metadata.get('title', '')} {doc.text} {text}") for doc in docs]
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A part of the collection, on which a component was learned."""
    folder = tmp_path_factory.mktemp("transfer")
    shutil.copytree(KITCHEN, folder / "small")
    lines = (KITCHEN / "corpus.jsonl").read_text().splitlines(keepends=True)
    (folder / "small" / "corpus.jsonl").write_text("".join(lines[:20]))
    (folder / "counts.py").write_text(COUNTS)
    settings = SearchSettings(iterations=0)
    optimize(folder / "small", folder / "run", settings=settings, start=folder / "counts.py")
    return folder


def test_a_component_is_used_unchanged_and_recalibrated(small):
    component = small / "run" / "frozen"
    assert load_frozen(component).state == {"documents": 20}
    found = transfer([component], KITCHEN, search=NO_SEARCH)
    assert [(row.program, row.learned_on, row.use) for row in found.rows] == [
        ("full_document", "", "unchanged"),
        ("small", "small", "unchanged"),
        ("small", "small", "recalibrated"),
    ]
    collection = load_collection(KITCHEN)
    split = make_split(collection)
    for row, recalibrate in zip(found.rows[1:], (False, True), strict=True):
        alone = evaluate(collection, component, queries="held-out", split=split, recalibrate=recalibrate)
        assert row.held_out == pytest.approx({metric: alone.metrics[metric] for metric in row.held_out})
        assert row.growth == alone.growth
    # With forty documents the program adds a word, which it does not with the twenty that it learned from.
    assert found.rows[2].growth > found.rows[1].growth


def test_p_values_are_paired_and_corrected_for_all_rows(small):
    (small / "titles.py").write_text(COUNTS.replace("{doc.text}", ""))
    found = transfer([small / "run" / "frozen", small / "titles.py"], KITCHEN, search=NO_SEARCH)
    collection = load_collection(KITCHEN)
    split = make_split(collection)
    before = evaluate(collection, queries="held-out", split=split)
    for metric in ("recall@100", "ndcg@10"):
        plain = {i: row.differences[metric].p_value for i, row in enumerate(found.rows) if i}
        assert len(plain) == 3
        assert {i: row.p_values[metric] for i, row in enumerate(found.rows) if i} == holm(plain)
        row = found.rows[2]
        after = evaluate(collection, small / "counts.py", queries="held-out", split=split)
        values = ([scores.scores[query][metric] for query in split.held_out] for scores in (after, before))
        assert row.differences[metric] == paired_difference(*values)


def test_searches_start_from_the_full_documents_and_from_each_component(small, tmp_path):
    settings = SearchSettings(iterations=1, candidates=1)
    found = transfer([small / "run" / "frozen"], KITCHEN, search=settings, runs=tmp_path / "runs")
    searched = [row for row in found.rows if row.use == "start of a search"]
    assert [row.program for row in searched] == ["full_document", "small"]
    infos = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("*/run.json")]
    starts = [info["settings"]["start"] for info in infos]
    assert len(starts) == 2
    assert load_frozen(small / "run" / "frozen").program.sha256 in starts
    assert all(row.adopted is not None for row in searched)


def test_a_program_that_fails_here_has_its_error_in_the_table(small, tmp_path, capsys):
    (tmp_path / "broken.py").write_text(COUNTS.replace("> 30", "> 1 / 0"))
    found = transfer([tmp_path / "broken.py", small / "run" / "frozen"], KITCHEN, search=NO_SEARCH)
    assert "ZeroDivisionError" in found.rows[1].error
    assert found.rows[1].held_out == {}
    assert found.rows[2].held_out
    assert main(["transfer", str(tmp_path / "broken.py"), str(KITCHEN), "--iterations", "0"]) == 0
    table = capsys.readouterr().out
    assert "| recalibrated | failed |  |  | failed |" in table
    assert "ZeroDivisionError" in table


def test_the_forms_of_the_table_say_the_same(small, capsys):
    command = ["transfer", str(small / "run" / "frozen"), str(KITCHEN), "--iterations", "0"]
    assert main([*command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert main([*command, "--csv"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(lines) == 2 * len(rows) == 6
    for line in lines:
        [row] = [row for row in rows if (row["program"], row["use"]) == (line["program"], line["used"])]
        assert float(line["held_out"]) == row["held_out"][line["metric"]]
        assert float(line["difference"]) == row["differences"][line["metric"]]["mean"]
    assert main(command) == 0
    assert f"| small | recalibrated | {rows[2]['validation']['recall@100']:.4f} |" in capsys.readouterr().out
    assert main([*command, "--csv", "--json"]) == 2


def test_settings_that_differ_have_to_be_named(small, tmp_path, capsys):
    settings = replace(NO_SEARCH, bm25=NO_SEARCH.bm25.model_copy(update={"k1": 0.9}))
    optimize(small / "small", tmp_path / "other", settings=settings)
    command = ["transfer", str(small / "run/frozen"), str(tmp_path / "other/frozen"), str(KITCHEN), "--iterations", "0"]
    assert main(command) != 0
    assert "different BM25 settings; say which hold here" in capsys.readouterr().err
    assert main([*command, "--k1", "1", "--b", "0.5", "--analyzer", "bm25s"]) == 0


def test_a_component_of_this_very_collection_is_told(small):
    found = transfer([small / "run" / "frozen"], small / "small", search=NO_SEARCH)
    assert any("small was learned on this collection: its figures are no transfer" in note for note in found.notes)
