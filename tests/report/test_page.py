"""The page says what the run folder says, stays small, and is never worth losing a run for."""

import json
import re
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoindex_haystack import optimize
from autoindex_haystack.cli.main import main
from autoindex_haystack.errors import RunError
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.report import write_report
from autoindex_haystack.report.changes import find_change
from autoindex_haystack.report.heatmap import make_heatmap
from autoindex_haystack.report.page import MOST_BYTES, render_report, verdict
from autoindex_haystack.report.programs import Tried, read_programs
from autoindex_haystack.report.sources import pack_sources
from autoindex_haystack.runs import read_journal, read_result

LINES = st.lists(st.sampled_from(["a", "b", "", "    c", "</script>", "ä"]), max_size=12)


def test_what_became_of_each_program_is_what_the_journal_says(run):
    programs = {tried.label: tried for tried in read_programs(run, "recall@100")}
    fates = {label: tried.fate for label, tried in programs.items()}
    assert fates["baseline"] == "baseline"
    assert (fates["1.1"], fates["2.1"]) == ("adopted", "adopted")
    assert (fates["1.2"], fates["1.3"], fates["2.2"]) == ("failed", "no better", "no better")
    assert "division by zero" in programs["1.2"].reason
    journalled = {record["program"]: record for record in read_journal(run) if record["record"] == "evaluation"}
    base = journalled[programs["baseline"].sha256]["metrics"]["recall@100"]
    for tried in programs.values():
        if tried.value is not None:
            assert tried.value == journalled[tried.sha256]["metrics"]["recall@100"]
            assert tried.gain == pytest.approx(tried.value - base)
        assert tried.source == (run / "programs" / f"{tried.sha256}.py").read_text()


def test_the_heatmap_counts_what_the_scores_say(run):
    programs = read_programs(run, "recall@100")
    heatmap = make_heatmap(programs, "recall@100")
    assert sorted(heatmap.queries) == sorted(programs[0].scores)
    for row in heatmap.rows:
        tried = programs[row.program]
        for query, cell in zip(heatmap.queries, row.cells, strict=True):
            if not tried.scores:
                assert cell == "?"
                continue
            change = tried.scores[query]["recall@100"] - programs[0].scores[query]["recall@100"]
            assert cell == ("+" if change > 0 else "-" if change < 0 else "=")
    squares = sum(int(width) for width in re.findall(r"h(\d+)v1", heatmap.paths["+"]))
    assert squares == sum(row.count("+") for row in heatmap.rows) > 0


@given(LINES, LINES, LINES)
def test_packed_sources_give_every_program_and_its_changes(first, second, third):
    sources = ["\n".join(lines) for lines in (first, second, third)]
    chain = [(), ("0",), ("1", "0")]
    programs = [
        Tried(str(i), str(i), i, source=source, parents=parents)
        for i, (source, parents) in enumerate(zip(sources, chain, strict=True))
    ]
    packed = json.loads(json.dumps(pack_sources(programs)))
    written = [[packed["lines"][n] for n in packed["sources"][tried.sha256]] for tried in programs]
    assert written == [tried.source.splitlines() for tried in programs]
    assert packed["diffs"][0] is None
    for i in (1, 2):
        parent, blocks = packed["diffs"][i]
        assert parent == i - 1
        made = list(written[parent])
        for begin, end, start, stop in reversed(blocks):
            made[begin:end] = written[i][start:stop]
        assert made == written[i]


def test_the_summary_has_the_figures_of_the_result(run):
    result, page = read_result(run), render_report(run).decode()
    for metric, difference in result.differences.items():
        assert f"{difference.low:+.4f} to {difference.high:+.4f}" in page
        assert f"{result.learned.held_out[metric]:.4f}" in page
    assert f"{result.gain.corrected:+.4f} without the luck" in page
    assert verdict(result, "another") in page
    for layer in result.isolation:
        assert f"<li>{layer}</li>" in page


@pytest.mark.parametrize(
    ("low", "high", "learned", "words"),
    [
        (0.01, 0.03, "other", "is better"),
        (-0.03, -0.01, "other", "is worse"),
        (-0.01, 0.01, "other", "cannot be told"),
        (0, 0, "baseline", "the baseline was frozen"),
    ],
)
def test_the_verdict_follows_the_interval(run, low, high, learned, words):
    result = read_result(run)
    gain = result.gain.model_copy(update={"low": low, "high": high})
    assert words in verdict(result.model_copy(update={"gain": gain, "program_sha256": learned}), "baseline")


def test_the_program_that_a_search_started_from_is_among_the_programs(run, tmp_path):
    start = optimize(
        run.parent / "hostile", tmp_path / "on", start=run / "frozen", settings=SearchSettings(iterations=0)
    )
    programs = read_programs(tmp_path / "on", "recall@100")
    assert [(tried.label, tried.fate) for tried in programs] == [("baseline", "baseline"), ("start", "adopted")]
    assert programs[1].sha256 == start.program_sha256
    page = write_report(tmp_path / "on").read_text()
    assert "the program that the search started from" in page
    assert "the baseline was frozen" not in page
    assert find_change(tmp_path / "on").against.label == "baseline"


def test_a_page_of_many_queries_stays_small_and_says_so(run, tmp_path):
    copy = tmp_path / "large"
    shutil.copytree(run, copy)
    comparison = json.loads((copy / "comparison.json").read_text())
    some = comparison["held_out"]
    comparison["held_out"] = [{**some[i % len(some)], "query_id": f"copy{i}"} for i in range(6_000)]
    (copy / "comparison.json").write_text(json.dumps(comparison))
    page = write_report(copy).read_bytes()
    assert MOST_BYTES / 5 < len(page) <= MOST_BYTES
    assert b"of 6,000 queries that changed most" in page


def test_a_run_of_an_earlier_version_has_a_page_without_texts(run, tmp_path):
    copy = tmp_path / "early"
    shutil.copytree(run, copy)
    (copy / "comparison.json").unlink()
    shutil.rmtree(copy / "evidence")
    page = write_report(copy).read_text()
    assert "made by a version that did not keep texts" in page
    assert page.count('class="queries"') == 1


def test_the_command_writes_where_it_is_told_and_says_what_is_wrong(run, tmp_path, capsys):
    out = tmp_path / "page.html"
    assert main(["report", str(run), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"report": str(out), "bytes": out.stat().st_size}
    assert main(["report", str(run), "--out", str(out)]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["report", str(tmp_path)]) == 2
    assert "holds no run" in capsys.readouterr().err
    (tmp_path / "half").mkdir()
    shutil.copy(run / "run.json", tmp_path / "half")
    assert main(["report", str(tmp_path / "half")]) == 2
    assert "holds no finished run" in capsys.readouterr().err


def test_a_program_that_is_missing_or_was_changed_is_named(run, tmp_path):
    copy = tmp_path / "holed"
    shutil.copytree(run, copy)
    program = next((copy / "programs").iterdir())
    program.unlink()
    with pytest.raises(RunError, match=program.name):
        write_report(copy)
    program.write_text("# another one")
    with pytest.raises(RunError, match=f"{program.name} is missing or was changed"):
        write_report(copy)


def test_a_search_writes_its_page_and_survives_when_that_fails(run, tmp_path, capsys, monkeypatch):
    collection = run.parent / "hostile"
    arguments = ["optimize", str(collection), "--iterations", "0", "--json", "--out"]
    assert main([*arguments, str(tmp_path / "a")]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == str(tmp_path / "a" / "report.html")
    assert b"the baseline was frozen" in (tmp_path / "a" / "report.html").read_bytes()

    def fail(*_):
        raise MemoryError("too much")

    monkeypatch.setattr("autoindex_haystack.report.page.render_report", fail)
    assert main([*arguments, str(tmp_path / "b")]) == 0
    printed = capsys.readouterr()
    assert "No report was written (too much)" in printed.err
    assert "report" not in json.loads(printed.out)
    assert (tmp_path / "b" / "frozen" / "manifest.json").is_file()
