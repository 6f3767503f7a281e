"""`autoindex diff` and `autoindex compare`: what changed in a run, and which of two programs is better."""

import json
import subprocess

import pytest

from autoindex_haystack.cli.main import main
from autoindex_haystack.collection import load_collection, load_split
from autoindex_haystack.evaluation import evaluate
from autoindex_haystack.runs import read_result


def told(capsys, *arguments, code=0):
    capsys.readouterr()
    assert main([*map(str, arguments)]) == code
    printed = capsys.readouterr()
    return json.loads(printed.out) if "--json" in arguments else printed


@pytest.mark.parametrize(
    ("arguments", "program", "against"),
    [
        ((), "2.1", "baseline"),
        (("--best",), "2.1", "1.1"),
        (("2.2",), "2.2", "1.1"),
        (("1.2", "--against", "2.1"), "1.2", "2.1"),
        (("2.1", "--against", "baseline"), "2.1", "baseline"),
        (("--against", "parent"), "2.1", "1.1"),
    ],
)
def test_the_diff_turns_the_one_program_into_the_other(run, capsys, tmp_path, arguments, program, against):
    found = told(capsys, "diff", run, *arguments, "--json")
    assert (found["program"]["label"], found["against"]["label"]) == (program, against)
    old, new = (
        (run / "programs" / f"{found[side]['sha256']}.py").read_text().rstrip("\n") + "\n"
        for side in ("against", "program")
    )
    (tmp_path / "program.py").write_text(old)
    patch = "\n".join(found["diff"]) + "\n"
    subprocess.run(["patch", "-s", tmp_path / "program.py"], input=patch, text=True, check=True)
    assert (tmp_path / "program.py").read_text() == new


def test_programs_are_named_by_their_hash_too(run, capsys):
    sha256 = read_result(run).program_sha256
    assert told(capsys, "diff", run, sha256[:6], "--json")["program"]["sha256"] == sha256
    assert "2.1 (" in told(capsys, "diff", run, sha256).out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("9.9",), "has no such program"),
        (("0",), "has no such program"),
        (("baseline",), "has no parent"),
        (("2.1", "--best"), "leave one of them out"),
        (("--against", "nothing"), "has no such program"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_sentence(run, capsys, arguments, sentence):
    printed = told(capsys, "diff", run, *arguments, code=2)
    assert sentence in printed.err
    assert printed.err.startswith("Error: ")
    assert printed.out == ""


def test_a_program_cannot_write_to_the_terminal(run, capsys):
    assert "\x1b" in (run / "programs" / f"{read_result(run).program_sha256}.py").read_text()
    assert "\\x1b[2J" in (printed := told(capsys, "diff", run)).out
    assert "\x1b" not in printed.out


def test_two_programs_are_compared_query_by_query(run, capsys):
    folder = run.parent / "hostile"
    pair = ("builtin:full_document", run / "frozen", folder)
    found = told(capsys, "compare", *pair, "--queries", "held-out", "--split", run, "--json")
    result = read_result(run)
    collection = load_collection(folder)
    split = load_split(run, collection)
    after = evaluate(collection, run / "frozen", queries="held-out", split=split)
    before = evaluate(collection, queries="held-out", split=split)
    for metric, difference in result.differences.items():
        assert found["metrics"][metric]["difference"] == pytest.approx(difference.model_dump())
        changes = [after.scores[query][metric] - before.scores[query][metric] for query in split.held_out]
        figures = found["metrics"][metric]
        assert (figures["better"], figures["worse"]) == (sum(c > 0 for c in changes), sum(c < 0 for c in changes))
        assert figures["better"] + figures["worse"] + figures["same"] == found["queries"] == len(split.held_out)
    assert found["metrics"]["recall@100"]["p_sign_flip"] == pytest.approx(result.gain.p_sign_flip)
    assert found["notes"] == []
    printed = told(capsys, "compare", *pair)
    assert "may flatter it" in printed.err
    assert "the difference is B minus A" in printed.out


def test_components_are_compared_with_their_own_settings_unless_told_otherwise(run, capsys, tmp_path):
    folder = run.parent / "hostile"
    other = tmp_path / "run"
    assert (
        main(["optimize", str(folder), "--iterations", "0", "--analyzer", "lucene-english", "--out", str(other)]) == 0
    )
    pair = ("compare", other / "frozen", "builtin:full_document", folder, "--json")
    found = told(capsys, *pair)
    assert any("different BM25 settings" in note for note in found["notes"])
    assert not all(figures["difference"]["mean"] == 0 for figures in found["metrics"].values())
    same = told(capsys, *pair, "--analyzer", "bm25s")
    assert not any("different BM25 settings" in note for note in same["notes"])
    assert all(figures["difference"]["mean"] == 0 for figures in same["metrics"].values())
