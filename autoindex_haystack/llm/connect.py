"""From a user's words (model, endpoint, key, limits) to a model that is limited, accounted and written down."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from autoindex_haystack.llm.accounts import Ledger, Limits, Price, read_prices
from autoindex_haystack.llm.errors import LLMError
from autoindex_haystack.llm.limited import Limited
from autoindex_haystack.llm.recording import Recorded
from autoindex_haystack.llm.redaction import Redactor, credentials
from autoindex_haystack.llm.types import ChatModel

KEY_VARIABLE = "OPENAI_API_KEY"
"""The environment variable of the key, unless another one is named."""

_NO_KEY = "none"


@dataclass(frozen=True)
class ModelOptions:
    """Which model is asked, and how.

    :param model: The model's name; empty with a generator.
    :param base_url: The endpoint; the ``openai`` package's own default when not given.
    :param api_key_env: The environment variable that holds the key.
    :param generator: The file of a Haystack chat generator that takes the client's place.
    :param temperature: The sampling temperature.
    :param stream: Receive answers piece by piece.
    :param timeout: Seconds without a sign of life after which a try is given up.
    :param limits: What the run may use.
    :param prices: A price table.
    """

    model: str = ""
    base_url: str | None = None
    api_key_env: str = KEY_VARIABLE
    generator: Path | None = None
    temperature: float = 1.0
    stream: bool = False
    timeout: float = 300.0
    limits: Limits = field(default_factory=Limits)
    prices: Path | None = None

    def as_json(self) -> dict[str, Any]:
        """Returns the options as a JSON object without secrets: an address loses what may hold some."""
        paths = {
            name: path and str(path.absolute()) for name in ("generator", "prices") for path in [getattr(self, name)]
        }
        return {**asdict(self), **paths, "base_url": self.base_url and _without_secrets(self.base_url)}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> "ModelOptions":
        """Returns the options that :meth:`as_json` told.

        :param told: The JSON object.
        """
        paths = {name: told[name] and Path(told[name]) for name in ("generator", "prices")}
        return cls(**{**told, **paths, "limits": Limits(**told["limits"])})


def connect(
    options: ModelOptions, exchanges: Path, *, source: Path | Sequence[Path] = (), spent: float = 0.0
) -> Recorded:
    """Make the model that a run asks. Nothing is sent yet.

    :param options: Which model, and how.
    :param exchanges: Where its exchanges are written down.
    :param source: A recording, or several, to answer from as far as it goes; ``exchanges`` itself when an interrupted
        run goes on.
    :param spent: Seconds that the run has taken, where it goes on.
    :returns: The model.
    :raises LLMError: If the key, the generator or the price table is missing or cannot be used.
    """
    model, name, secrets = _model(options)
    ledger = Ledger(_price(options, name))
    limited = Limited(model, options.limits, ledger, spent)
    how: dict[str, Any] = {
        "ledger": ledger,
        "redactor": Redactor(secrets),
        "name": name,
        "connection": options.as_json(),
    }
    return Recorded(limited, exchanges, source=source, **how)


def _model(options: ModelOptions) -> tuple[ChatModel, str, list[str]]:
    """The model, its name, and the secrets that it holds."""
    if options.generator is not None:
        from autoindex_haystack.llm.haystack_chat import HaystackChat

        generator = HaystackChat.load(options.generator)
        return generator, generator.name, generator.secrets()
    if not options.model:
        msg = "no model is named; give --model NAME, or --generator FILE with a Haystack chat generator"
        raise LLMError(msg)
    address = options.base_url or os.environ.get("OPENAI_BASE_URL", "").strip()
    if address and not address.startswith(("http://", "https://")):
        msg = f"{address} is no address of an endpoint; write it with http:// or https://"
        raise LLMError(msg)
    from autoindex_haystack.llm.openai_chat import OpenAIChat

    key = os.environ.get(options.api_key_env, "").strip()
    # An endpoint of one's own often wants no key; OpenAI's always does.
    if not key and not address:
        msg = (
            f"the environment variable {options.api_key_env} holds no key; set it, name another with --api-key-env, or "
            "name an endpoint that needs none with --base-url"
        )
        raise LLMError(msg)
    client = OpenAIChat(
        options.model,
        base_url=address or None,
        api_key=key or _NO_KEY,
        temperature=options.temperature,
        stream=options.stream,
        timeout=options.timeout,
    )
    return client, options.model, [key, *credentials(address)]


def _without_secrets(base_url: str) -> str:
    from urllib.parse import urlsplit, urlunsplit

    found = urlsplit(base_url)
    return urlunsplit((found.scheme, found.netloc.rpartition("@")[2], found.path, "", ""))


def _price(options: ModelOptions, name: str) -> Price | None:
    price = read_prices(options.prices).get(name) if options.prices else None
    if price is None and options.limits.usd is not None:
        msg = f"--max-usd needs the price of {name}; give --prices a table such as `{name}: {{input: 1, output: 4}}`"
        raise LLMError(msg)
    return price
