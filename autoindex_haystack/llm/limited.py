"""A model within limits: no call is made that they do not allow."""

import time
from dataclasses import replace

from autoindex_haystack.llm.accounts import Ledger, Limits
from autoindex_haystack.llm.errors import LimitReached
from autoindex_haystack.llm.types import ChatModel, Reply, Request, Usage

_SHORTEST_ANSWER = 64
"""An answer that may not have so many tokens is not worth asking for."""


class Limited:
    """Asks a model only as far as the limits allow, and shortens the longest answer to what is left.

    :param model: The model.
    :param limits: The limits; the time goes on now.
    :param ledger: What was used so far; whoever owns it writes the calls down.
    :param spent: Seconds that were used before.
    """

    def __init__(self, model: ChatModel, limits: Limits, ledger: Ledger, spent: float = 0.0) -> None:
        self._model = model
        self._limits = limits
        self._ledger = ledger
        self._began = time.monotonic() - spent

    def complete(self, request: Request) -> Reply:
        """Answer a request; see :class:`ChatModel`.

        :raises LimitReached: If a limit allows no further call.
        """
        prompt = request.estimated_tokens()
        longest = request.max_tokens
        used = self._ledger.totals.usage
        if self._limits.tokens is not None:
            longest = min(longest, self._limits.tokens - used.total - prompt)
            _need(longest, f"--max-tokens-total {self._limits.tokens:,} (used {used.total:,})")
        price = self._ledger.price
        if self._limits.usd is not None and price is not None:
            spent = price.of(used)
            left = self._limits.usd - spent - price.of(Usage(prompt=prompt))
            if price.output:
                longest = min(longest, int(1e6 * left / price.output))
            _need(longest if left > 0 else 0, f"--max-usd {self._limits.usd:g} (spent {spent:.4f})")
        seconds = request.seconds
        if self._limits.seconds is not None:
            remaining = self._limits.seconds - (time.monotonic() - self._began)
            _need(_SHORTEST_ANSWER if remaining > 0 else 0, f"--max-minutes {self._limits.seconds / 60:g}")
            seconds = remaining if seconds is None else min(seconds, remaining)
        return self._model.complete(replace(request, max_tokens=longest, seconds=seconds))


def _need(longest: int, limit: str) -> None:
    if longest < _SHORTEST_ANSWER:
        msg = f"the limit {limit} allows no further call of the model"
        raise LimitReached(msg)
