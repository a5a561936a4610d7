"""A dictionary of bounded size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


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
