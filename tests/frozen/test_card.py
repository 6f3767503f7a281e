"""The Python of a component's card works as it stands there."""

import re
import subprocess
import sys

from autoindex_haystack.frozen.freeze import freeze_program
from autoindex_haystack.program import Document, builtin_program


def test_the_cards_example_runs_in_the_components_folder(tmp_path):
    frozen = freeze_program(builtin_program("full_document"), [Document("a", "rye bread")], tmp_path / "frozen")
    card = (frozen.path / "README.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    example = example.replace('content="…"', 'content="rye bread"').replace('"query": "…"', '"query": "bread"')
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=frozen.path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "rye bread" in done.stdout
