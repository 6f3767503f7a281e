"""A small collection on which other word forms are what helps."""

import json

import pytest

from autoindex_haystack.collection import load_collection

TOPICS = (
    "connect paint walk plant count start mount print repair collect inspect extend protect construct discuss report "
    "measure compute analyze classify design develop govern observe predict record select translate transport visit"
).split()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Thirty topics with three judged documents each, and many documents about nothing in particular."""
    folder = tmp_path_factory.mktemp("collections") / "forms"
    folder.mkdir()
    corpus, queries, qrels = [], [], ["query-id\tcorpus-id\tscore"]
    for i, verb in enumerate(TOPICS):
        stem = verb.removesuffix("e").removesuffix("y") if verb.endswith(("e", "y")) else verb
        for n, form in enumerate((f"{stem}ing", f"{stem}ed", f"{verb}s")):
            filler = " ".join(f"filler{(7 * i + 3 * n + k) % 40}" for k in range(12))
            corpus.append({"_id": f"{verb}-{n}", "title": "", "text": f"{filler} {form} {filler}"})
            qrels.append(f"q{i}\t{verb}-{n}\t{n % 2 + 1}")
            corpus += [{"_id": f"{verb}-{n}-{k}", "title": "", "text": f"{filler} {form} other{k}"} for k in range(3)]
        corpus += [{"_id": f"{verb}-{k}", "title": "", "text": f"{verb} other{k}"} for k in "abc"]
        queries.append({"_id": f"q{i}", "text": f"how filler{i} {verb}"})
    corpus += [
        {"_id": f"x{i}", "title": "", "text": " ".join(f"filler{(i + k) % 40}" for k in range(9))} for i in range(300)
    ]
    for name, rows in (("corpus.jsonl", corpus), ("queries.jsonl", queries)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "qrels.tsv").write_text("\n".join(qrels) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def collection(folder):
    return load_collection(folder)
