"""The defaults that help texts state are those of the rooms; shared options mean the same everywhere."""

import inspect

import click
import pytest

from autoindex_haystack.cli import options
from autoindex_haystack.cli.main import COMMANDS, cli
from autoindex_haystack.evaluation.objective import OBJECTIVES
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.optimizer.settings import ACCEPTANCES
from autoindex_haystack.retrieval import BM25Settings
from autoindex_haystack.sandbox import Limits


def _parameters(name):
    return {parameter.name: parameter for parameter in cli.get_command(click.Context(cli), name).params}


@pytest.mark.parametrize("name", ["optimize", "evaluate", "index", "crosscheck"])
def test_stated_defaults_are_the_rooms_own(name):
    parameters, bm25 = _parameters(name), BM25Settings()
    for option, value in (("k1", f"{bm25.k1:g}"), ("b", f"{bm25.b:g}"), ("analyzer", bm25.analyzer)):
        assert f"Default: {value}" in parameters[option].help
    assert parameters["timeout"].default == Limits().seconds
    assert parameters["max_unreachable"].default == Limits().unreachable


def test_search_defaults_are_those_of_the_optimizer():
    parameters = _parameters("optimize")
    for name in ("iterations", "candidates", "seed", "objective", "acceptance", "max_growth"):
        assert parameters[name].default == getattr(SearchSettings(), name)


def test_objectives_and_rules_are_those_of_the_optimizer():
    parameters = _parameters("optimize")
    assert tuple(parameters["objective"].type.choices) == OBJECTIVES
    assert tuple(parameters["acceptance"].type.choices) == ACCEPTANCES


def test_a_parameter_of_one_name_is_the_same_option_everywhere():
    seen = {}
    for command in COMMANDS:
        for name, parameter in _parameters(command).items():
            if name in ("json", "force", "workers", "limits", "timeout", "max_unreachable", "backend", "debug"):
                assert seen.setdefault(name, (parameter.opts, parameter.help)) == (parameter.opts, parameter.help)


def test_names_are_given_with_commas_or_repeatedly():
    @click.command()
    @options.metadata_fields_option
    def command(metadata_fields):
        return metadata_fields

    given = ["--metadata-fields", "a,b", "--metadata-fields", " c ,,a"]
    assert command.main(given, standalone_mode=False) == ("a", "b", "c")


def test_given_bm25_settings_go_over_those_of_a_component():
    @click.command()
    @options.bm25_options()
    def command(bm25):
        return bm25

    own = BM25Settings(k1=0.9, b=0.4)
    assert command.main([], standalone_mode=False)(own) == own
    assert command.main(["--k1", "2"], standalone_mode=False)(own) == BM25Settings(k1=2, b=0.4)
    assert command.main(["--k1", "2"], standalone_mode=False)(None) == BM25Settings(k1=2)


def test_every_command_documents_every_option():
    for command in COMMANDS:
        assert inspect.cleandoc(cli.get_command(click.Context(cli), command).help)
        for parameter in _parameters(command).values():
            assert isinstance(parameter, click.Argument) or parameter.help


@pytest.mark.parametrize(
    ("option", "value"),
    [("--k1", "-1.5"), ("--b", "7.25"), ("--analyzer", "klingon"), ("--timeout", "0.0"), ("--iterations", "-3")],
)
def test_a_value_out_of_range_is_named_beside_what_is_allowed(autoindex, tmp_path, option, value):
    done = autoindex("optimize", tmp_path, "--out", tmp_path / "run", option, value)
    assert (done.code, option in done.err, value in done.err) == (2, True, True)


def test_help_with_many_options_has_them_in_sections_and_each_once(autoindex):
    text = autoindex("optimize", "--help").out
    sections = text.split("\n\n")
    titles = [title for title in ("Options", *options.SECTIONS) if f"\n{title}:\n" in text]
    own = {flag for param in _parameters("optimize").values() for flag in param.opts}
    assert titles == ["Options", *(title for title, flags in options.SECTIONS.items() if own.intersection(flags))]
    assert len(titles) > 5
    [model] = [section for section in sections if section.startswith("Language model:")]
    assert "--max-usd" in model
    assert "--k1" not in model
    for flag in _parameters("optimize").values():
        assert isinstance(flag, click.Argument) or text[text.index("Options:") :].count(f"\n  {flag.opts[0]} ") == 1
    assert "Retrieval:" not in autoindex("verify", "--help").out


def test_each_option_that_a_section_names_exists():
    group = click.Context(cli)
    commands = [cli.get_command(group, name) for name in COMMANDS]
    known = {flag for command in commands if command for param in command.params for flag in param.opts}
    named = [flag for flags in options.SECTIONS.values() for flag in flags]
    assert set(named) <= known | {"--help"}
    assert len(named) == len(set(named))


@pytest.mark.parametrize("name", ["no_such_module", "no_such_module.part", ".relative", "not a name"])
def test_an_unknown_module_is_refused_before_any_work(name):
    @click.command()
    @options.allow_import_option
    def command(allowed_imports):
        return allowed_imports

    assert command.main(["--allow-import", "numpy.linalg,json"], standalone_mode=False) == ("numpy.linalg", "json")
    with pytest.raises(click.BadParameter, match="this Python has no module"):
        command.main(["--allow-import", f"json,{name}"], standalone_mode=False)
