"""What programs learned from one corpus: learned once for all programs that can only learn the same."""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from autoindex_haystack.errors import Cancelled
from autoindex_haystack.evaluation.slots import slot_given_back
from autoindex_haystack.sandbox import IsCancelled

_MOST_BYTES = 128 << 20
"""Bytes of all states together, as JSON; those that were asked for last are kept."""

_TICK = 0.2
"""Seconds between two looks at whether the work is called off."""


@dataclass(frozen=True)
class Learned:
    """What a program learned.

    :param state: The state, not to be changed.
    :param seconds: Wall-clock seconds that calibrating takes, whoever did it.
    """

    state: dict[str, Any]
    seconds: float


class Calibrations:
    """Keeps what was learned. Usable from several threads: who asks for what is being learned waits for it,
    and lets another one work meanwhile.

    A failure is not kept: it names lines of the program that failed, so every program fails for itself.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[Learned, int]] = OrderedDict()
        self._busy: set[str] = set()
        self._bytes = 0
        self._changed = threading.Condition()

    def learn(self, key: str, calibrate: Callable[[], dict[str, Any]], cancelled: IsCancelled) -> Learned:
        """Returns what is known under a key, else calibrates.

        :param key: The same for programs that can only learn the same.
        :param calibrate: Calibrates.
        :param cancelled: Asked several times a second while waiting.
        :raises Cancelled: If the work was called off while waiting.
        """
        while (found := self._take(key)) is None:
            with slot_given_back():
                self._wait(key, cancelled)
        if isinstance(found, Learned):
            return found
        try:
            began = time.monotonic()
            learned = Learned(calibrate(), time.monotonic() - began)
            self._keep(key, learned)
        finally:
            with self._changed:
                self._busy.discard(key)
                self._changed.notify_all()
        return learned

    def _take(self, key: str) -> Learned | Literal["to learn"] | None:
        """What is known under a key, or that it is for the caller to learn; None while another one learns it."""
        with self._changed:
            if key in self._busy:
                return None
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key][0]
            self._busy.add(key)
            return "to learn"

    def _wait(self, key: str, cancelled: IsCancelled) -> None:
        """Wait until nobody learns it."""
        with self._changed:
            while key in self._busy:
                self._changed.wait(_TICK)
                if cancelled():
                    msg = "the program's run was called off"
                    raise Cancelled(msg)

    def _keep(self, key: str, learned: Learned) -> None:
        size = len(json.dumps(learned.state))
        with self._changed:
            self._known[key] = learned, size
            self._bytes += size
            while self._bytes > _MOST_BYTES:
                _, (_, old) = self._known.popitem(last=False)
                self._bytes -= old
