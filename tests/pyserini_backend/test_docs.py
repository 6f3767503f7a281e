"""Every command and every example of the page on Lucene works as it stands there.

Those of Pyserini and the installation are run by the full tests.
"""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from autoindex_haystack.cli.main import main
from pyserini_backend import jvm
from pyserini_backend.index import LuceneIndex

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = (CHECKOUT / "docs" / "lucene.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [line for language, block in BLOCKS if language == "bash" for line in block.splitlines()]
OURS = [line for line in COMMANDS if line.startswith("autoindex ")]
EXAMPLES = [block for language, block in BLOCKS if language == "python" and "pyserini." not in block]


def autoindex(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command line of ours, in this process, where Java runs already."""
    code = main(shlex.split(command)[1:])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return printed.out


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the reader has it: a collection, and an index that Pyserini made."""
    place = tmp_path_factory.mktemp("reader")
    shutil.copytree(CHECKOUT / "tests" / "end_to_end" / "kitchen", place / "my_collection")
    write_json(place / "my_collection", place / "my_json")
    command = "-collection JsonCollection -generator DefaultLuceneDocumentGenerator -threads 2"
    places = ["-input", str(place / "my_json"), "-index", str(place / "their_index")]
    jvm.java_class("io.anserini.index.IndexCollection").main([*command.split(), *places])
    return place


def write_json(collection: Path, folder: Path) -> None:
    """Write a collection as Pyserini's indexer reads it."""
    folder.mkdir()
    rows = map(json.loads, (collection / "corpus.jsonl").read_text(encoding="utf-8").splitlines())
    lines = [json.dumps({"id": row["_id"], "contents": f"{row['title']}\n{row['text']}"}) for row in rows]
    (folder / "documents.jsonl").write_text("\n".join(lines), encoding="utf-8")


def test_every_command_is_run_by_some_test() -> None:
    others = [line for line in COMMANDS if line not in OURS]
    assert all(re.match(r"pip install |python -m pyserini\.(search|index)\.lucene ", line) for line in others)
    assert len(OURS) == 4


def test_the_container_is_installed_as_the_page_says() -> None:
    [container] = [block for language, block in BLOCKS if language == "dockerfile"]
    installs = [line.removeprefix("RUN ") for line in container.splitlines() if line.startswith("RUN ")]
    assert [line.replace(" --no-cache-dir", "").replace(" /src ", " . ") for line in installs] == [
        line for line in COMMANDS if line.startswith("pip ")
    ]


def test_the_commands_work_one_after_the_other(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    outputs = [autoindex(command, capsys) for command in OURS]
    assert re.search("lucene engine: +indexed and found", outputs[0])
    assert "Sourdough starter" in outputs[2]


def test_the_examples_work_as_pasted(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    printed = []
    for example in EXAMPLES:
        exec(compile(example, "docs/lucene.md", "exec"), {})
        printed.append(capsys.readouterr().out)
    assert printed == ["version 2 ['a']\n", "", "['0004', '0001', '0009']\n"]
    assert (place / "my_tokens.tsv").read_text().startswith("q01\thow do keep sourdough starter alive\n")
    with LuceneIndex.load(place / "their_index_as_ours") as adopted:
        assert len(adopted) == 40
