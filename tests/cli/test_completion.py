"""Shells complete commands, options and values."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def complete_in_bash(line: str, place: Path) -> list[str]:
    """Returns what a real bash offers at the end of a command line."""
    words = line.split(" ")
    script = f"""
        eval "$(autoindex completion bash)"
        COMP_WORDS=({" ".join(words)})
        COMP_CWORD={len(words) - 1}
        COMP_LINE="{line}"
        _autoindex_completion autoindex "{words[-1]}"
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        cwd=place,
        env={**os.environ, "PATH": PATH},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("autoindex optim", ["optimize"]),
        ("autoindex import st", ["stackexchange"]),
        ("autoindex optimize --accept", ["--acceptance"]),
        ("autoindex optimize --acceptance p", ["paper"]),
        ("autoindex evaluate --program builtin:p", ["builtin:passages"]),
        ("autoindex evaluate --backend bm", ["bm25s"]),
        ("autoindex completion f", ["fish"]),
    ],
)
def test_bash_completes(line, offered, tmp_path):
    assert complete_in_bash(line, tmp_path) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_it_can_read(shell, autoindex):
    done = autoindex("completion", shell)
    assert done.code == 0
    assert "_AUTOINDEX_COMPLETE" in done.out
    if found := shutil.which(shell):
        subprocess.run([found, "-n"], input=done.out, text=True, check=True, timeout=60)


def test_another_shell_is_refused_with_those_that_are_known(autoindex):
    done = autoindex("completion", "csh")
    assert done.code == 2
    assert "bash" in done.err
