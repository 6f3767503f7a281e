"""What the page on Lucene says of the installation and of Pyserini works as it stands there."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

CHECKOUT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", (CHECKOUT / "docs" / "lucene.md").read_text(encoding="utf-8"), re.DOTALL)
COMMANDS = [line for language, block in BLOCKS if language == "bash" for line in block.splitlines()]
PYTHON = [block for language, block in BLOCKS if language == "python"]


def run(command: str, place: Path, bin_folder: Path, **environment: str) -> str:
    whole = {**os.environ, **environment, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    done = subprocess.run(
        command, shell=True, cwd=place, env=whole, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the reader has it, with what the page's commands of ours make of it."""
    place = tmp_path_factory.mktemp("reader")
    collection = place / "my_collection"
    shutil.copytree(CHECKOUT / "tests" / "end_to_end" / "kitchen", collection)
    documents = map(json.loads, (collection / "corpus.jsonl").read_text(encoding="utf-8").splitlines())
    rows = [json.dumps({"id": row["_id"], "contents": f"{row['title']}\n{row['text']}"}) for row in documents]
    (place / "my_json").mkdir()
    (place / "my_json" / "documents.jsonl").write_text("\n".join(rows), encoding="utf-8")
    queries = map(json.loads, (collection / "queries.jsonl").read_text(encoding="utf-8").splitlines())
    lines = [f"{query['_id']}\t{query['text']}\n" for query in queries]
    (place / "my_queries.tsv").write_text("".join(lines), encoding="utf-8")
    ours = Path(sys.executable).parent
    for command in COMMANDS:
        if command.startswith("autoindex index"):
            run(command, place, ours)
    for index in ("my_index", "my_bm25s_index"):
        run(f"autoindex search {index} --queries my_collection/queries.jsonl --run-file {index}.trec", place, ours)
    [tokens] = [example for example in PYTHON if "my_tokens.tsv" in example]
    run(f"python -c {shlex.quote(tokens)}", place, ours)
    return place


def rankings(run_file: Path) -> dict[str, list[str]]:
    """The first ten documents of each query, chunk numbers left out."""
    found: dict[str, list[str]] = {}
    for line in run_file.read_text(encoding="utf-8").splitlines():
        query, _, name, *_ = line.split()
        found.setdefault(query, []).append(name.partition("#")[0])
    return {query: names[:10] for query, names in found.items()}


@pytest.mark.parametrize(("ours", "theirs"), [("my_index.trec", "my.run"), ("my_bm25s_index.trec", "my_bm25s.run")])
def test_pyserini_searches_our_indexes_as_the_page_says(
    ours: str, theirs: str, place: Path, pyserini: Callable[..., str]
) -> None:
    [command] = [line for line in COMMANDS if f"--output {theirs} " in line]
    pyserini(command, place)
    assert rankings(place / theirs) == rankings(place / ours)


def test_the_example_of_pyserini_works_as_pasted(place: Path, pyserini: Callable[..., str]) -> None:
    [example] = [example for example in PYTHON if "LuceneSearcher" in example]
    printed = pyserini(f"python -c {shlex.quote(example)}", place).splitlines()
    assert [line.split()[0] for line in printed[-3:]] == ["0004#0", "0001#0", "0025#0"]


def test_we_open_what_pyserini_indexed_as_the_page_says(place: Path, pyserini: Callable[..., str]) -> None:
    [command] = [line for line in COMMANDS if "pyserini.index" in line]
    pyserini(command, place)
    [example] = [example for example in PYTHON if "open_foreign" in example]
    printed = run(f"python -c {shlex.quote(example)}", place, Path(sys.executable).parent)
    assert printed == "['0004', '0001', '0009']\n"


def test_the_lean_installation_has_lucene_and_nothing_heavy(tmp_path: Path) -> None:
    run(f"python -m hatchling build --target wheel --directory {tmp_path}", CHECKOUT, Path(sys.executable).parent)
    [wheel] = tmp_path.glob("*.whl")
    run(f"{sys.executable} -m venv fresh", tmp_path, Path(sys.executable).parent)
    fresh = tmp_path / "fresh" / "bin"
    pinned = {"PIP_CONSTRAINT": str(CHECKOUT / "constraints.txt"), "PIP_NO_COMPILE": "1"}
    for command in COMMANDS:
        if command.startswith("pip "):
            run(command.replace("install . ", f"install {wheel} "), tmp_path, fresh, **pinned)
    [doctor] = [command for command in COMMANDS if command == "autoindex doctor"]
    assert re.search("lucene engine: +indexed and found", run(doctor, tmp_path, fresh))
    packages = {path.name for path in next((tmp_path / "fresh" / "lib").iterdir()).glob("site-packages/*")}
    assert not {"torch", "transformers"} & packages
    megabytes = sum(path.stat().st_size for path in (tmp_path / "fresh").rglob("*") if path.is_file()) >> 20
    assert megabytes < 1000
    print(f"{megabytes} MB")
