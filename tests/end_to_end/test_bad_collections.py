"""Input that is broken is refused with a sentence that names file and line, and nothing is left behind."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

Spoil = Callable[[Path], object]


def _replace_line(name: str, number: int, line: str) -> Spoil:
    def spoil(folder: Path) -> None:
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        lines[number - 1] = line
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    return spoil


def _write(name: str, data: str | bytes) -> Spoil:
    return lambda folder: (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)


CORPUS = {
    "broken JSON on line 3": (
        _replace_line("corpus.jsonl", 3, '{"_id": "0003", "text": "cut off'),
        ("corpus.jsonl, line 3", "broken JSON"),
    ),
    "a line that is no object": (_replace_line("corpus.jsonl", 2, "[1, 2]"), ("corpus.jsonl, line 2", "a list")),
    "a duplicate document id": (
        _replace_line("corpus.jsonl", 5, '{"_id": "0001", "text": "again"}'),
        ("corpus.jsonl, line 5", "'0001'", "on line 1"),
    ),
    "a document without _id": (
        _replace_line("corpus.jsonl", 4, '{"text": "who am I"}'),
        ("corpus.jsonl, line 4", '"_id" is missing'),
    ),
    "a document id that is a number": (
        _replace_line("corpus.jsonl", 4, '{"_id": 4, "text": "a number"}'),
        ("corpus.jsonl, line 4", '"_id" must be a string', 'write "4" in quotes'),
    ),
    "a document without text": (
        _replace_line("corpus.jsonl", 4, '{"_id": "x"}'),
        ("corpus.jsonl, line 4", '"text" is missing'),
    ),
    "bytes in Latin-1": (
        _write("corpus.jsonl", '{"_id": "1", "text": "caf\xe9"}\n'.encode("latin-1")),
        ("corpus.jsonl, line 1", "not UTF-8", "0xe9"),
    ),
    "an empty corpus": (_write("corpus.jsonl", ""), ("corpus.jsonl", "no documents")),
    "a corpus that is missing": (lambda folder: (folder / "corpus.jsonl").unlink(), ("has no corpus.jsonl",)),
}

OTHERS = {
    "a duplicate query id": (
        _replace_line("queries.jsonl", 2, '{"_id": "q01", "text": "again"}'),
        ("queries.jsonl, line 2", "'q01'", "on line 1"),
    ),
    "a query without _id": (
        _replace_line("queries.jsonl", 3, '{"text": "who am I"}'),
        ("queries.jsonl, line 3", '"_id" is missing'),
    ),
    "a query id that is a number": (
        _replace_line("queries.jsonl", 3, '{"_id": 3, "text": "a number"}'),
        ("queries.jsonl, line 3", '"_id" must be a string'),
    ),
    "no judged query": (
        _write("qrels.tsv", "query-id\tcorpus-id\tscore\nq01\t0001\t0\n"),
        ("no query has a relevant document",),
    ),
    "qrels of other queries only": (
        _write("qrels.tsv", "query-id\tcorpus-id\tscore\nnobody\t0001\t1\n"),
        ("no query has a relevant document",),
    ),
    "qrels with a grade that is no number": (
        _replace_line("qrels.tsv", 3, "q01\t0004\tgood"),
        ("qrels.tsv, line 3", "'good'"),
    ),
    "qrels with too few columns": (_replace_line("qrels.tsv", 4, "q02 0002"), ("qrels.tsv, line 4", "2 columns")),
}


@pytest.mark.parametrize(("spoil", "parts"), CORPUS.values(), ids=CORPUS)
def test_a_broken_corpus_is_refused(spoil: Spoil, parts, kitchen, out, autoindex, here):
    spoil(kitchen)
    for run, *arguments in (
        (autoindex, "evaluate", kitchen, "--run-file", out / "run.trec", "--per-query", out / "queries.tsv"),
        (here, "optimize", kitchen, "--out", out / "run"),
        (here, "index", kitchen, "--program", "builtin:passages", "--out", out / "index"),
        (here, "crosscheck", kitchen),
    ):
        run(*arguments, "--json").failed(2, *parts)
        assert list(out.iterdir()) == []


@pytest.mark.parametrize(("spoil", "parts"), OTHERS.values(), ids=OTHERS)
def test_broken_queries_and_judgments_are_refused(spoil: Spoil, parts, kitchen, out, autoindex, here):
    spoil(kitchen)
    for run, *arguments in (
        (here, "split", kitchen, "--out", out / "split.json"),
        (autoindex, "evaluate", kitchen, "--run-file", out / "run.trec"),
    ):
        run(*arguments).failed(2, *parts)
        assert list(out.iterdir()) == []


def test_a_folder_that_does_not_exist_is_refused(tmp_path, out, here):
    for arguments in (("split", "--out", out / "split.json"), ("evaluate",), ("optimize", "--out", out / "run")):
        here(arguments[0], tmp_path / "nowhere", *arguments[1:]).failed(2, "nowhere", "is no folder")
    assert list(out.iterdir()) == []


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: b"\xef\xbb\xbf" + data,
    ],
    ids=["CRLF", "BOM"],
)
def test_line_ends_and_byte_order_marks_change_nothing(rewrite, kitchen, here):
    before = json.loads(here("evaluate", kitchen, "--json").succeeded().out)
    for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"):
        (kitchen / name).write_bytes(rewrite((kitchen / name).read_bytes()))
    after = json.loads(here("evaluate", kitchen, "--json").succeeded().out)
    assert after["metrics"] == before["metrics"]
    assert after["queries"] == before["queries"] == 12


def test_unknown_documents_count_as_not_found_and_unknown_queries_are_left_out(kitchen, here):
    with (kitchen / "qrels.tsv").open("a", encoding="utf-8") as qrels:
        qrels.write("q05\tno-such-document\t1\nno-such-query\t0001\t1\n")
    with (kitchen / "queries.jsonl").open("a", encoding="utf-8") as queries:
        queries.write('{"_id": "q13", "text": "not judged"}\n')
    done = here("evaluate", kitchen).succeeded()
    assert "Note: 1 relevant document is not in the corpus; it counts as not found." in done.err
    assert "Note: 1 judged query is not in the query file and is left out." in done.err
    assert "Note: 1 query has no relevant document and is left out." in done.err
    figures = json.loads(here("evaluate", kitchen, "--json").succeeded().out)
    assert figures["queries"] == 12
    assert len(figures["notes"]) == 3
    per_query = kitchen.parent / "q.jsonl"
    here("evaluate", kitchen, "--per-query", per_query).succeeded()
    values = {record["query_id"]: record for record in map(json.loads, per_query.read_text().splitlines())}
    assert values["q05"]["recall@100"] == 0.5


def test_a_collection_of_empty_documents_has_figures_of_zero(kitchen, here):
    lines = [json.dumps({"_id": f"{i:04}", "text": ""}) for i in range(40)]
    (kitchen / "corpus.jsonl").write_text("\n".join(lines))
    for backend in ("bm25s", "lucene"):
        figures = json.loads(here("evaluate", kitchen, "--backend", backend, "--json").succeeded().out)
        assert figures["documents"] == figures["chunks"] == 40
        assert set(figures["metrics"].values()) == {0.0}


def test_a_read_only_collection_works_and_is_left_as_it_was(kitchen, out, autoindex):
    before = {path: path.stat().st_mtime_ns for path in kitchen.rglob("*")}
    for path in before:
        path.chmod(0o444)
    kitchen.chmod(0o555)
    try:
        autoindex("evaluate", kitchen, "--run-file", out / "run.trec").succeeded()
        autoindex("split", kitchen, "--out", out / "split.json").succeeded()
        assert {path: path.stat().st_mtime_ns for path in kitchen.rglob("*")} == before
        assert sorted(path.name for path in out.iterdir()) == ["run.trec", "split.json"]
    finally:
        kitchen.chmod(0o755)


def test_a_collection_without_read_permission_is_named(kitchen, autoindex):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (kitchen / "corpus.jsonl").chmod(0)
    autoindex("evaluate", kitchen).failed(2, "corpus.jsonl", "Permission denied")
