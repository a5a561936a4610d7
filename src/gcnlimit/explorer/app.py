"""The application: the page, and the processes that compute for it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Executor

from dash import Dash

from gcnlimit._processes import process_pool
from gcnlimit.explorer.answers import Answers
from gcnlimit.explorer.connect import connect_controls, connect_pictures, connect_trials
from gcnlimit.explorer.page import layout
from gcnlimit.explorer.state import State
from gcnlimit.explorer.trials import Trials

__all__ = ["Explorer"]


class Explorer:
    """The explorer as a web application, `app`; `close` ends its processes.

    Parameters
    ----------
    start
        What the page shows at first.
    sentence
        What it says at first.
    """

    def __init__(self, start: State | None = None, sentence: str = "") -> None:
        self._stack, self._lock = contextlib.ExitStack(), threading.Lock()
        self._pools: dict[str, Executor] = {}
        self.app = Dash("gcnlimit.explorer", title="gcnlimit explorer", update_title="", serve_locally=True)
        self.app.layout = lambda: layout(start or State(), sentence)
        trials = Trials(self._pool("trials"))
        connect_controls(self.app)
        connect_pictures(self.app, Answers(self._pool("pictures")), trials)
        connect_trials(self.app, trials)

    def close(self) -> None:
        """End the processes that compute."""
        self._stack.close()

    def _pool(self, name: str) -> Callable[[], Executor]:
        """Function that makes the process of that name when it is first needed."""

        def pool() -> Executor:
            with self._lock:
                if name not in self._pools:
                    self._pools[name] = self._stack.enter_context(process_pool(1))
                return self._pools[name]

        return pool
