"""The documentation builds without a warning, has a page for each command, and its tutorial works as written."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autoindex_haystack.cli.main import COMMANDS

CHECKOUT = Path(__file__).resolve().parents[2]
TUTORIAL = (CHECKOUT / "docs" / "tutorial.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as ``make docs`` does."""
    place = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", place],
        cwd=CHECKOUT,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return place


def test_each_command_has_a_page_that_the_navigation_shows(site):
    navigation = (site / "index.html").read_text(encoding="utf-8")
    for name in COMMANDS:
        page = f"commands/{name}.html"
        assert f'href="{page}"' in navigation
        assert "Exit code" in (site / page).read_text(encoding="utf-8")
    optimize = (site / "commands" / "optimize.html").read_text(encoding="utf-8")
    assert "<p>Candidates are compared on the validation queries" in optimize
    optimize = re.sub(r"<[^>]*>", "", optimize)
    for text in ("--max-growth", "autoindex optimize my_collection --out my_run"):
        assert text in optimize


def test_docstrings_read_well(site):
    for page in ("components.html", "python.html"):
        text = (site / page).read_text(encoding="utf-8")
        assert re.findall(r"<h2[^>]*>", text)
        assert not re.findall(r":(?:meth|class|func|param|returns|raises):?|<code>~|&lt;unknown", text), page


def test_pages_load_nothing_from_elsewhere(site):
    loaded = re.compile(r"""<(?:script|img|iframe|link)[^>]*?(?:src|href)=["']?(?:https?:)?//([^/"' >]+)""")
    for page in site.rglob("*.html"):
        text = re.sub(r"<link[^>]*rel=.?canonical[^>]*>", "", page.read_text(encoding="utf-8"))
        assert not loaded.findall(text), page


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """A folder of Markdown, the sections of our own pages, and a question about each heading."""
    place = tmp_path_factory.mktemp("tutorial")
    rows = ["question,file", "how long may tea steep,kitchen/tea.md"]
    (place / "my_docs" / "kitchen").mkdir(parents=True)
    (place / "my_docs" / "kitchen" / "tea.md").write_text("# Tea\nLet it steep for three minutes.\n", encoding="utf-8")
    for page in [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted((CHECKOUT / "docs").glob("*.md"))]:
        for number, section in enumerate(re.split(r"^(?=## )", page.read_text(encoding="utf-8"), flags=re.MULTILINE)):
            (place / "my_docs" / f"{page.stem}_{number}.md").write_text(section, encoding="utf-8")
            heading = re.sub(r"[^\w ]", "", section.splitlines()[0]).strip()
            rows.append(f"what about {heading} in {page.stem},{page.stem}_{number}.md")
    (place / "my_questions.csv").write_text("\n".join(rows), encoding="utf-8")
    return place


def test_the_tutorial_works_from_start_to_end(reader):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    said, python = [], shutil.which("python", path=environment["PATH"])
    for language, block in re.findall(r"```(bash|python)\n(.*?)```", TUTORIAL, re.DOTALL):
        commands = block.splitlines() if language == "bash" else [f"{python} -"]
        for command in filter(None, commands):
            # Fewer candidates than the reader has patience for: what is shown is that it works.
            command = command.replace("--out my_run", "--out my_run --iterations 1 --candidates 2")
            done = subprocess.run(
                command,
                shell=True,
                check=False,
                cwd=reader,
                env=environment,
                input=block if language == "python" else None,
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            said.append(done.stdout)
    assert len(said) >= 7
    assert "Let it steep for three minutes." in said[-2]
