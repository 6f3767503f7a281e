"""Record and replay: every exchange with a model is written down before it is used, and can be given again.

Exchanges are found by their label, which says what they are for (``iteration 2, analysis 3``), so that what a run asked
once is answered in the same way whenever the run is repeated, however the order of its calls.
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from autoindex_haystack.llm.accounts import Call, Ledger
from autoindex_haystack.llm.errors import (
    ContextTooLong,
    Denied,
    EndpointError,
    LimitReached,
    LLMError,
    RecordingEnded,
    ReplayError,
    Unreadable,
)
from autoindex_haystack.llm.redaction import Redactor
from autoindex_haystack.llm.types import ChatModel, Reply, Request

EXCHANGES = "exchanges.jsonl"
"""The file in a run folder that holds the exchanges."""

_ERRORS: dict[str, type[LLMError]] = {
    kind.__name__: kind for kind in (LLMError, EndpointError, Unreadable, Denied, ContextTooLong, LimitReached)
}

_REPLY = TypeAdapter(Reply)


class Failure(BaseModel):
    """Why a request got no answer."""

    model_config = ConfigDict(extra="forbid")

    kind: str
    message: str


class Exchange(BaseModel):
    """One line of the file: a request with its reply or failure, or a value that the run looked up.

    :param label: What it is for.
    :param role: Who asked; empty for a value.
    :param sha256: Hash of the request.
    :param request: The request, in full.
    :param reply: The reply, if there was one.
    :param failure: Why there was none.
    :param value: A value that may come out otherwise another time, such as what a search found in limited time.
    :param seconds: How long it took.
    """

    model_config = ConfigDict(extra="forbid")

    label: str
    role: str = ""
    sha256: str = ""
    request: dict[str, Any] = {}
    reply: dict[str, Any] | None = None
    failure: Failure | None = None
    value: Any = None
    seconds: float = 0.0


class Recorded:
    """A model whose exchanges are written down; with a recording as its source, one that answers from there.

    When the file that it adds to is one of its sources, an interrupted run goes on: what is in the file counts as used,
    and is not written again.

    :param model: Who answers what was not recorded; None for nobody, as when a run is repeated without a network.
    :param path: The file that exchanges are added to; its folder must exist by the first exchange.
    :param source: A recording to answer from, or several, of which the first that holds a label answers.
    :param ledger: Where calls are accounted, recorded ones too.
    :param redactor: Removes secrets from whatever is written, returned or raised.
    :param name: The model's name, for who reads about the run.
    :param connection: How the model is reached, as JSON without secrets, for who goes on with the run.
    """

    def __init__(
        self,
        model: ChatModel | None,
        path: Path,
        *,
        source: Path | Sequence[Path] = (),
        ledger: Ledger | None = None,
        redactor: Redactor | None = None,
        name: str = "",
        connection: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.connection = connection
        self.pause: Callable[[], None] = lambda: None
        """Called before the model is asked; may raise to put that off."""
        self._model = model
        self._path = path
        sources = [source] if isinstance(source, Path) else list(source)
        self._source = sources[-1] if sources else None
        self._own: dict[str, Exchange] = {}
        self._known: dict[str, Exchange] = {}
        for place in reversed(sources):
            if place != path:
                self._known |= read_exchanges(place)
                continue
            _mend(path)
            if path.exists():
                self._own = read_exchanges(path)
                self._known |= self._own
        self._asked: set[str] = set()
        self._redactor = redactor or Redactor()
        self.ledger = ledger or Ledger()
        for exchange in self._own.values():
            self._account(exchange)
        self.changed: list[str] = []
        """Labels of requests that were not what the recording says, though its answers were used."""

    def complete(self, request: Request) -> Reply:
        """Answer a request; see :class:`ChatModel`."""
        exchange = self._recorded(request.label)
        if exchange is None:
            exchange = self._ask(request)
        elif exchange.sha256 != request.sha256():
            self.changed.append(request.label)
        self._keep(exchange)
        if exchange.failure:
            raise _ERRORS.get(exchange.failure.kind, LLMError)(exchange.failure.message)
        return _REPLY.validate_python(exchange.reply)

    def labels(self) -> set[str]:
        """Returns the labels of all exchanges, recorded ones too."""
        return self._asked | self._known.keys()

    def remember(self, label: str, look_up: Callable[[], Any]) -> Any:
        """Look something up once; a repeated run gets the same answer.

        :param label: What it is, unique within the run.
        :param look_up: Returns a JSON value.
        :returns: The value.
        """
        exchange = self._recorded(label)
        if exchange is None:
            began = time.monotonic()
            value = look_up()
            exchange = self._clean(Exchange(label=label, value=value, seconds=time.monotonic() - began))
        self._keep(exchange)
        return exchange.value

    def _ask(self, request: Request) -> Exchange:
        assert self._model is not None
        self.pause()
        exchange = Exchange(label=request.label, role=request.role, sha256=request.sha256(), request=request.content())
        began = time.monotonic()
        try:
            exchange.reply = _REPLY.dump_python(self._model.complete(request), mode="json")
        except LLMError as error:
            exchange.failure = Failure(kind=type(error).__name__, message=str(error))
        exchange.seconds = time.monotonic() - began
        return self._clean(exchange)

    def _recorded(self, label: str) -> Exchange | None:
        """The recorded exchange; None when there is none and somebody can be asked."""
        assert label not in self._asked, f"the label {label!r} is used twice"
        self._asked.add(label)
        exchange = self._known.get(label)
        if exchange is None and self._model is None:
            if self._known and self._asked.issuperset(self._known):
                msg = f"the recorded run {self._source} was over at this point ({label})"
                raise RecordingEnded(msg)
            msg = f"{self._source} does not hold {label!r}; replay with the collection and the version it was made with"
            raise ReplayError(msg)
        return exchange

    def _clean(self, exchange: Exchange) -> Exchange:
        return Exchange.model_validate(self._redactor.json(exchange.model_dump(mode="json")))

    def _account(self, exchange: Exchange) -> None:
        if exchange.reply:
            reply = _REPLY.validate_python(exchange.reply)
            self.ledger.add(Call(exchange.role, reply.usage, exchange.seconds, reply.tries))

    def _keep(self, exchange: Exchange) -> None:
        """Write an exchange down and account for it, unless that was done before the run was interrupted."""
        if exchange.label not in self._own:
            self._write(exchange)
            self._account(exchange)

    def _write(self, exchange: Exchange) -> None:
        """Add an exchange and see that it is on disk before it is used."""
        line = json.dumps(exchange.model_dump(mode="json", exclude_defaults=True)) + "\n"
        with self._path.open("ab") as file:
            file.write(line.encode("ascii"))
            file.flush()
            os.fsync(file.fileno())


def read_exchanges(path: Path) -> dict[str, Exchange]:
    """Read a recording.

    :param path: The file.
    :returns: The exchanges by label. A last line that was cut off is left out.
    :raises ReplayError: If there is no such file or it is damaged.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror}); give the folder of a run with `--proposer agents` or `both`"
        raise ReplayError(msg) from error
    found: dict[str, Exchange] = {}
    # Every whole line ends with a line feed, so what follows the last one was being written.
    for number, line in enumerate(lines[:-1], start=1):
        try:
            exchange = Exchange.model_validate(cast("dict[str, Any]", json.loads(line)))
        except (ValueError, ValidationError) as error:
            msg = f"{path}, line {number}: this is no exchange; the file was damaged or changed"
            raise ReplayError(msg) from error
        found[exchange.label] = exchange
    return found


def _mend(path: Path) -> None:
    """Take off a last line that was not written whole, so that others can follow."""
    try:
        with path.open("r+b") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
    except FileNotFoundError:
        pass
    except OSError as error:
        msg = f"{path} cannot be written ({error.strerror}); make it writable to go on with the run"
        raise LLMError(msg) from error
