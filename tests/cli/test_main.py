"""The entry point: quick, and one sentence for whatever goes wrong."""

import shlex
import subprocess
import sys
from importlib.metadata import version

import click
import pytest

from autoindex_haystack.cli.main import COMMANDS, cli
from autoindex_haystack.errors import CollectionError, ProgramError

HEAVY = ("haystack", "numba", "numpy", "pydantic", "torch", "jnius", "scipy", "openai", "rich.progress", "bm25s")


def _command(name: str) -> click.Command:
    command: click.Command | None = cli
    for part in name.split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), part)
    assert command is not None
    return command


def _all_commands() -> list[str]:
    """The names of all commands, those of groups such as ``import crumb`` too."""
    names = []
    for name in COMMANDS:
        command = _command(name)
        names += [f"{name} {inner}" for inner in command.commands] if isinstance(command, click.Group) else [name]
    return names


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["evaluate", "--help"], ["index", "--help"]])
def test_help_loads_nothing_heavy(arguments):
    code = (
        "import sys; from autoindex_haystack.cli.main import main; assert main(sys.argv[1:]) == 0;"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_names_every_command(autoindex):
    done = autoindex("--help")
    assert done.code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in done.out
    assert "Example:\n    autoindex demo" in done.out
    assert autoindex("-h").out == done.out


@pytest.mark.parametrize("name", _all_commands())
def test_help_of_a_command_shows_an_example_that_parses(name, autoindex, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("my_run/frozen", "other_run/frozen", "moved/frozen", "my_collection", "my_index", "docs", "disk5"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "disk4.gz").touch()
    done = autoindex(*name.split(), "--help")
    assert done.code == 0
    assert "Example" in done.out
    command = _command(name)
    for line in command.example:
        assert " ".join(line.split()) in " ".join(done.out.split())
        words = name.split()
        program, *arguments = shlex.split(line.replace("\\\n", ""))
        assert (program, *arguments[: len(words)]) == ("autoindex", *words)
        command.make_context(name, arguments[len(words) :])


@pytest.mark.parametrize("name", _all_commands())
def test_every_command_has_the_common_flags(name):
    options = {option for parameter in _command(name).params for option in parameter.opts}
    assert {"--json", "--debug"} <= options


def test_version_is_that_of_the_package(autoindex):
    assert autoindex("--version").out == f"autoindex {version('autoindex-haystack')}\n"


def test_without_a_command_the_help_is_shown(autoindex):
    done = autoindex()
    assert done.code == 2
    assert "Usage: autoindex" in done.out + done.err


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["nothing"], "No such command 'nothing'"),
        (["evaluate"], "Missing argument 'COLLECTION'"),
        (["evaluate", "x", "--nothing"], "No such option"),
        (["evaluate", "x", "--k1", "-1"], "'--k1': -1.0 should be greater than or equal to 0"),
        (["evaluate", "x", "--b", "1.5"], "'--b': 1.5 should be less than or equal to 1"),
        (["evaluate", "x", "--k1", "nan"], "'--k1'"),
        (["evaluate", "x", "--k1", "much"], "'--k1'"),
        (["evaluate", "x", "--analyzer", "magic"], "'--analyzer': unknown analyzer 'magic'"),
        (["evaluate", "x", "--backend", "magic"], "is named 'magic'; installed are bm25s, dense, hybrid, lucene"),
        (["evaluate", "x", "--timeout", "0"], "'--timeout'"),
        (["evaluate", "x", "--timeout", "nan"], "'--timeout'"),
        (["evaluate", "x", "--max-unreachable", "2"], "'--max-unreachable'"),
        (["evaluate", "x", "--workers", "0"], "'--workers'"),
        (["evaluate", "x", "--queries", "some"], "'--queries'"),
        (["evaluate", "x", "--split", "nowhere.json"], "'--split'"),
        (["evaluate", "x", "--split", ".", "--split-seed", "1"], "cannot be used together with --split"),
        (["optimize", "x"], "Missing option '--out'"),
        (["optimize", "x", "--out", "y", "--iterations", "-1"], "'--iterations'"),
        (
            ["index", "x", "--out", "y", "--component", ".", "--program", "builtin:passages"],
            "either --component or --program",
        ),
        (["index", "x", "--out", "y", "--component", ".", "--metadata-fields", "a"], "a frozen component has its own"),
        (["index", "x", "--out", "y", "--component", "nowhere"], "'--component'"),
        (["search", "x"], "either QUERY or --queries"),
        (["search", "x", "a", "--queries", "b"], "either QUERY or --queries"),
        (["search", "x", "--queries", "b"], "--queries and --run-file belong together"),
        (["search", "x", "a", "--top-k", "0"], "'--top-k'"),
        (["verify", "nowhere"], "'FROZEN'"),
    ],
)
def test_wrong_use_is_one_sentence_that_names_the_option(arguments, part, autoindex):
    done = autoindex(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert part in done.err
    assert "--help`" in done.err


def _failing(monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("autoindex_haystack.collection.load_collection", fail)


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (CollectionError("corpus.jsonl,\nline 3: broken"), 2, "Error: corpus.jsonl, line 3: broken\n"),
        (ProgramError("the program failed"), 1, "Error: the program failed\n"),
        (OSError(28, "No space left on device", "/data/x"), 2, "Error: /data/x: No space left on device\n"),
        (
            ZeroDivisionError("division by zero"),
            1,
            "Error: unexpected ZeroDivisionError: division by zero; run it again with --debug to see more\n",
        ),
        (KeyboardInterrupt(), 130, "Error: interrupted\n"),
    ],
)
def test_an_error_is_a_sentence_and_an_exit_code(error, code, sentence, autoindex, monkeypatch):
    _failing(monkeypatch, error)
    done = autoindex("evaluate", "x")
    assert (done.code, done.out, done.err.lstrip("\n")) == (code, "", sentence)


@pytest.mark.parametrize("arguments", [["--debug", "evaluate", "x"], ["evaluate", "x", "--debug"]])
def test_debug_shows_the_traceback_before_the_sentence(arguments, autoindex, monkeypatch):
    _failing(monkeypatch, CollectionError("broken"))
    done = autoindex(*arguments)
    assert done.code == 2
    assert "Traceback (most recent call last)" in done.err
    assert done.err.endswith("\nError: broken\n")


def test_a_program_s_traceback_follows_the_sentence(autoindex, monkeypatch):
    _failing(monkeypatch, ProgramError("the program failed", program_traceback="Traceback:\n  line\x1b[0m\n"))
    assert autoindex("evaluate", "x").err == "Error: the program failed\nTraceback:\n  line\\x1b[0m\n"


def test_haystack_does_not_phone_home():
    code = (
        "import os; os.environ.pop('HAYSTACK_TELEMETRY_ENABLED', None)\n"
        "from autoindex_haystack.cli.main import main; main(['--version'])\n"
        "import haystack.telemetry._telemetry as t; print(t.HAYSTACK_TELEMETRY_ENABLED in os.environ, t.telemetry)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True None"
