"""Pictures for many clients: the latest state wins, slow ones come from another process, repeated ones from memory."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Executor
from typing import Generic, TypeVar

from gcnlimit.explorer.picture import Picture
from gcnlimit.explorer.pictures import PICTURES, SLOW
from gcnlimit.explorer.state import State

__all__ = ["Answers", "Recent", "compute"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

REST = 0.3  # seconds without a movement before a slow picture is begun
KEPT = 256


class Recent(Generic[K, V]):
    """Dictionary that forgets what was not used for longest; safe among threads.

    >>> r = Recent(2)
    >>> for key in "abc":
    ...     r.put(key, key.upper())
    >>> r.get("a"), r.get("c")
    (None, 'C')
    """

    def __init__(self, size: int) -> None:
        self._size, self._lock = size, threading.Lock()
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Value of a key, None if there is none."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        """Keep a value."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)


class Answers:
    """Pictures of states, each computed once.

    Parameters
    ----------
    executor
        Makes the executor of other processes when it is first needed.
    """

    def __init__(self, executor: Callable[[], Executor]) -> None:
        self._executor = executor
        self._pictures: Recent[tuple[str, State], Picture] = Recent(KEPT)
        self._latest: Recent[tuple[str, str], int] = Recent(4096)
        self._turn = threading.Lock()

    def picture(self, name: str, state: State, client: str, number: int) -> Picture | None:
        """Picture of a client's state, None if a later state has come; `number` counts the states of a client.

        Raises the errors of the library.
        """
        key = (client, name)
        self._latest.put(key, max(number, self._latest.get(key) or 0))

        def stale() -> bool:
            return number < (self._latest.get(key) or 0)

        known = self._pictures.get((name, state))
        if known is None:
            known = self._in_another_process(name, state, stale) if name in SLOW else self._here(name, state, stale)
            if known is not None:
                self._pictures.put((name, state), known)
        return known

    def _here(self, name: str, state: State, stale: Callable[[], bool]) -> Picture | None:
        with self._turn:  # one at a time: a state that waits may become stale and cost nothing
            return None if stale() else compute(name, state)

    def _in_another_process(self, name: str, state: State, stale: Callable[[], bool]) -> Picture | None:
        time.sleep(REST)
        if stale():
            return None
        future = self._executor().submit(compute, name, state)
        while True:
            try:
                return future.result(timeout=0.2)
            except TimeoutError:
                if stale() and future.cancel():
                    return None
            except CancelledError:
                return None


def compute(name: str, state: State) -> Picture:
    """Compute a picture."""
    return PICTURES[name](state)
