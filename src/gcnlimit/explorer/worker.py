"""Another process that computes for the page, one call at a time; a call that nobody waits for any more is ended."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor
from typing import Any, TypeVar

from gcnlimit._runtime.processes import process_pool
from gcnlimit.errors import GCNLimitError

R = TypeVar("R")

_LOOK = 0.1  # seconds between two looks at whether a call is still wanted


class _EndedError(Exception):
    """The process is ended in the middle of a call."""


class Worker:
    """One process, started when it is first needed.

    Parameters
    ----------
    patience
        Seconds that an unwanted call may go on before its process is ended: starting another one takes about as long.
    """

    def __init__(self, patience: float = 1.5) -> None:
        self._patience = patience
        self._turn = threading.Lock()
        self._context: contextlib.AbstractContextManager[Executor] | None = None
        self._pool: Executor | None = None

    def run(self, call: Callable[..., R], *given: Any, unwanted: Callable[[], bool]) -> R | None:
        """Result of a call, None if it became unwanted before it ended."""
        while not self._turn.acquire(timeout=_LOOK):
            if unwanted():
                return None
        try:
            return None if unwanted() else self._run(call, *given, unwanted=unwanted)
        except BrokenExecutor:
            self._end()
            raise GCNLimitError("the computing process died, perhaps for lack of memory; try again") from None
        finally:
            self._turn.release()

    def close(self) -> None:
        """End the process."""
        with self._turn:
            self._end()

    def _run(self, call: Callable[..., R], *given: Any, unwanted: Callable[[], bool]) -> R | None:
        if self._pool is None:
            self._context = process_pool(1)
            self._pool = self._context.__enter__()
        future, began = self._pool.submit(call, *given), time.monotonic()
        while True:
            try:
                return future.result(timeout=_LOOK)
            except TimeoutError:
                if unwanted() and time.monotonic() - began > self._patience:
                    self._end()
                    return None

    def _end(self) -> None:
        context, self._context, self._pool = self._context, None, None
        if context is not None:
            with contextlib.suppress(_EndedError):
                context.__exit__(_EndedError, _EndedError(), None)
