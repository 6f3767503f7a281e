"""The page for Haystack's list of integrations: its front matter has what they ask for, and its code runs."""

import re
from pathlib import Path

import yaml

from tests.components.test_docstrings import CLASSES

PAGE = Path(__file__).parents[2] / "integrations" / "autoindex.md"
_, FRONT, BODY = PAGE.read_text("utf-8").split("---\n", 2)
TYPES = {
    "Custom Component",
    "Data Ingestion",
    "Document Store",
    "Evaluation Framework",
    "Model Provider",
    "Monitoring Tool",
}


def test_the_front_matter_has_all_that_the_list_asks_for():
    front = yaml.safe_load(FRONT)
    assert front["layout"] == "integration"
    assert front["type"] in TYPES
    assert front["name"]
    assert front["description"]
    assert all(author["name"] for author in front["authors"])


def test_the_table_of_contents_leads_to_headings():
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", BODY, re.MULTILINE)}
    links = re.findall(r"\]\(#(.*?)\)", BODY)
    assert len(links) == 8
    assert set(links) <= headings


def test_every_code_block_runs_as_pasted(freeze, tmp_path, monkeypatch, capsys):
    freeze(name="my_run/frozen")
    monkeypatch.chdir(tmp_path)
    printed = []
    for block in re.findall(r"```python\n(.*?)```", BODY, re.DOTALL):
        exec(compile(block, PAGE.name, "exec"), {})
        printed.append(capsys.readouterr().out)
    searched, elsewhere, evaluated = printed
    assert "A heated wing sheds ice. A heated wing sheds ice" in searched
    assert elsewhere == "A heated wing sheds ice. It needs power.\n"
    assert "'recall@10': 1.0" in evaluated


def test_every_command_is_one_that_the_readme_has():
    readme = (PAGE.parents[1] / "README.md").read_text("utf-8")
    for block in re.findall(r"```bash\n(.*?)```", BODY, re.DOTALL):
        for command in block.splitlines():
            assert command in readme


def test_the_table_names_every_class():
    named = set(re.findall(r"`(\w+(?:Retriever|Store|Preprocessor|Writer|Indexer|Aggregator|Evaluator))`", BODY))
    assert named == {cls.__name__ for cls in CLASSES}
