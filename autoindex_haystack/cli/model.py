"""The options that name a language model and bound what it may cost, and those of the agents who ask it."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from autoindex_haystack.cli.options import Number

if TYPE_CHECKING:
    from autoindex_haystack.llm.connect import ModelOptions
    from autoindex_haystack.proposers.agents import AgentSettings

F = TypeVar("F", bound=Callable[..., Any])

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def _decorated(function: Any, options: tuple[Any, ...]) -> Any:
    for option in reversed(options):
        function = option(function)
    return function


def _names(options: tuple[Any, ...]) -> tuple[str, ...]:
    """The parameters that options make."""

    def holder() -> None: ...

    _decorated(holder, options)
    made: list[click.Option] = holder.__click_params__  # type: ignore[attr-defined]
    return tuple(option.name for option in made if option.name)


_MODEL_OPTIONS = (
    click.option("--model", metavar="NAME", default="", help="The language model."),
    click.option(
        "--base-url",
        metavar="URL",
        help="An OpenAI-compatible endpoint, such as http://localhost:8000/v1; OpenAI's own when not given.",
    ),
    click.option(
        "--api-key-env",
        metavar="NAME",
        default="OPENAI_API_KEY",
        show_default=True,
        help="The environment variable that holds the key.",
    ),
    click.option(
        "--generator",
        type=_FILE,
        metavar="FILE",
        help="A Haystack chat generator in YAML (type and init_parameters), asked in the client's place.",
    ),
    click.option(
        "--temperature", type=Number(min=0, max=2), default=1.0, show_default=True, help="Sampling temperature."
    ),
    click.option("--stream", is_flag=True, help="Receive answers piece by piece, where quiet connections are closed."),
    click.option(
        "--llm-timeout",
        type=Number(min=0, min_open=True, max=86_400),
        metavar="SECONDS",
        default=300,
        show_default=True,
        help="Time without a sign of life after which the model is asked again.",
    ),
    click.option(
        "--max-tokens-total", type=click.IntRange(min=1), metavar="N", help="Tokens that all calls may have together."
    ),
    click.option(
        "--max-usd", type=Number(min=0, min_open=True), metavar="USD", help="Cost of all calls; needs --prices."
    ),
    click.option(
        "--max-minutes",
        type=Number(min=0, min_open=True),
        metavar="MINUTES",
        help="Time after which the model is not asked any more.",
    ),
    click.option(
        "--prices",
        type=_FILE,
        metavar="FILE",
        help="What models cost in USD for a million tokens, in YAML: `NAME: {input: 1, cached_input: 0.1, output: 4}`.",
    ),
)

_AGENT_OPTIONS = (
    click.option(
        "--condition",
        type=click.Choice(["full", "no-history", "no-analysis", "one-shot"]),
        default="full",
        show_default=True,
        help="The paper's ablation: what the agents do without; one-shot is one program from the description alone.",
    ),
    click.option(
        "--analysis-steps",
        type=click.IntRange(min=1, max=100),
        default=12,
        show_default=True,
        help="Turns with tools that the analysis agent has at most.",
    ),
    click.option(
        "--context-tokens",
        type=click.IntRange(min=2_000),
        default=12_000,
        show_default=True,
        help="What the analysis agent's messages may hold; older results of tools are cut.",
    ),
    click.option(
        "--answer-tokens", type=click.IntRange(min=256), default=8_192, show_default=True, help="The longest answer."
    ),
    click.option(
        "--describe",
        "description",
        type=_FILE,
        metavar="FILE",
        help="A text that tells the agents what the corpus is; written from the collection when not given.",
    ),
)


MODEL_NAMES = _names(_MODEL_OPTIONS)
AGENT_NAMES = _names(_AGENT_OPTIONS)
"""The parameters' names, for who has to say that an option goes with another."""

REACHING = ("base_url", "api_key_env", "generator", "stream", "llm_timeout", "prices")
"""Those that tell how the model is reached, which may change while a run is interrupted."""


def model_options(function: F) -> F:
    """Give a command the options of a model; it gets ``model``, a :class:`ModelOptions`."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given = {name: kwargs.pop(name) for name in MODEL_NAMES}
        return function(*args, model=_model(given), **kwargs)

    return cast("F", _decorated(wrapped, _MODEL_OPTIONS))


def agent_options(function: F) -> F:
    """Give a command the options of the agents; it gets ``agents``, a function from allowed imports to settings."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given = {name: kwargs.pop(name) for name in AGENT_NAMES}
        return function(*args, agents=functools.partial(_agents, given), **kwargs)

    return cast("F", _decorated(wrapped, _AGENT_OPTIONS))


def given(names: tuple[str, ...]) -> list[str]:
    """Returns those of the running command's options that the user gave, as they are written.

    :param names: Parameters' names.
    """
    context = click.get_current_context()
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in names
        and context.get_parameter_source(parameter.name) == click.core.ParameterSource.COMMANDLINE
    ]


def _model(given: dict[str, Any]) -> "ModelOptions":
    from autoindex_haystack.llm import Limits
    from autoindex_haystack.llm.connect import ModelOptions

    if given["model"] and given["generator"]:
        msg = "--generator takes the place of --model; give one of them"
        raise click.UsageError(msg, click.get_current_context())
    minutes = given["max_minutes"]
    return ModelOptions(
        model=given["model"],
        base_url=given["base_url"],
        api_key_env=given["api_key_env"],
        generator=given["generator"],
        temperature=given["temperature"],
        stream=given["stream"],
        timeout=given["llm_timeout"],
        limits=Limits(given["max_tokens_total"], given["max_usd"], None if minutes is None else 60 * minutes),
        prices=given["prices"],
    )


def _agents(given: dict[str, Any], allowed_imports: tuple[str, ...]) -> "AgentSettings":
    from autoindex_haystack.proposers.agents import AgentSettings

    path = given["description"]
    try:
        description = path.read_text(encoding="utf-8").strip() if path else ""
    except UnicodeDecodeError:
        msg = f"{path} is no UTF-8 text"
        raise click.BadParameter(msg, click.get_current_context(), param_hint="'--describe'") from None
    return AgentSettings(**{**given, "description": description, "allowed_imports": allowed_imports})
