"""The application: the page, and the processes that compute for it."""

from __future__ import annotations

from dash import Dash

from gcnlimit.explorer.answers import Answers
from gcnlimit.explorer.connect import connect_controls, connect_downloads, connect_trials
from gcnlimit.explorer.page import layout
from gcnlimit.explorer.route import connect_pictures
from gcnlimit.explorer.state import State
from gcnlimit.explorer.trials import Trials
from gcnlimit.explorer.worker import Worker


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
        self._workers = Worker(), Worker(), Worker()
        self.app = Dash("gcnlimit.explorer", title="gcnlimit explorer", update_title="", serve_locally=True)
        self.app.index_string = self.app.index_string.replace("<html>", '<html lang="en">')
        self.app.layout = lambda: layout(start or State(), sentence)
        answers, trials = Answers(*self._workers[:2]), Trials(self._workers[2])
        connect_controls(self.app)
        connect_pictures(self.app.server, answers, trials)
        connect_downloads(self.app, answers, trials)
        connect_trials(self.app, trials)

    def close(self) -> None:
        """End the processes that compute."""
        for worker in self._workers:
            worker.close()
