"""The application: what follows what among controls, address and sampled graphs; and its server.

Whatever changes the controls by itself (a link, an example, Tune, a click on the map, an upload) sets all of them from
one state, and the address of the page follows.

Pictures go around the callbacks of Dash: the page asks for its latest state when the answer to the one before is drawn,
for the pictures that are seen, and for everything else when the controls rest. A request is answered by lines of JSON,
one for each picture as soon as it is known.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import webbrowser
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from dash import ALL, ClientsideFunction, Dash, Input, Output, ctx, no_update
from dash import State as Held
from dash.exceptions import PreventUpdate
from flask import Response, request
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.answers import Answers, Trials, Worker
from gcnlimit.explorer.computations import tuned
from gcnlimit.explorer.page import layout
from gcnlimit.explorer.picture import Picture
from gcnlimit.explorer.sentences import ANSWERS, WAIT, answers
from gcnlimit.explorer.start import LARGEST, describe_upload
from gcnlimit.explorer.state import FIELDS, SWITCHES, State

Move = Callable[..., tuple[State, Any]]
"""From what was clicked to a state, and what is said of it."""

_in_page = partial(ClientsideFunction, "explorer")  # a function of the scripts in `assets`
_SAID = Output("message", "children", allow_duplicate=True)
_LOCAL = ("127.0.0.1", "localhost", "::1")
_FAULT = "The explorer failed; reload the page. The window in which it was started says more."


class Explorer:
    """The explorer as a web application that first shows a state and a sentence; `close` ends its processes.

    It answers requests to its `hosts`, and refuses all others with one sentence.
    """

    def __init__(self, start: State, sentence: str = "", hosts: Collection[str] = _LOCAL) -> None:
        self._hosts = hosts
        self._workers = Worker(), Worker(), Worker()
        self.answers = Answers(*self._workers[:2])
        self.trials = Trials(self._workers[2])
        title = "gcnlimit explorer"
        app = Dash("gcnlimit.explorer", title=title, update_title="", serve_locally=True)
        app.index_string = app.index_string.replace("<html>", '<html lang="en">')
        app.layout = lambda: layout(start, sentence)
        _connect_controls(app)
        _connect_trials(app, self.trials)
        self.server = app.server
        # two files in base64, and the state
        self.server.config["MAX_CONTENT_LENGTH"] = 2 * (4 * LARGEST // 3) + 2**20
        self.server.before_request(self._check)
        self.server.add_url_rule("/pictures", "pictures", self._pictures, methods=["POST"])

    def listen(self, host: str, port: int) -> BaseWSGIServer:
        """Server of the page at an address."""
        how: Any = {"threaded": True, "request_handler": _Handler}
        return make_server(host, port, self.server, **how)

    def close(self) -> None:
        """End the processes that compute."""
        for worker in self._workers:
            worker.close()

    def _check(self) -> Response | None:
        asked = [f"//{request.headers.get('Host', '')}", *request.headers.getlist("Origin")]
        if all(urlsplit(address).hostname in self._hosts for address in asked):
            return None
        return Response("This explorer answers only to the address it was started with.\n", 403)

    def _pictures(self) -> Response:
        found = self._lines(request.get_json(silent=True))
        lines = (f"{json.dumps(line)}\n" for line in found)
        return Response(lines, mimetype="application/x-ndjson")

    def _lines(self, given: Any) -> Iterator[dict[str, Any]]:
        """Pictures and sentences of the state that is asked for, and what it is waiting for, last."""
        known = self.answers
        try:
            state = State.of(given["values"])
            client = given["client"]
            answer = known.later if given.get("rest") else known.now
            for name, picture in answer(state, client, given["number"], given["seen"]):
                drawn = self.trials.with_dots(name, picture, client, state)
                words = answers(state, known.results(ANSWERS, state))
                yield {"picture": name, **_shown(drawn), "answers": words}
            yield {"waiting": known.waiting(state)}
        except GCNLimitError as error:
            yield {"refused": f"{str(error).rstrip('.')}."}
        except Exception:
            self.server.logger.exception("a request that cannot be answered")
            yield {"refused": _FAULT}


class _Handler(WSGIRequestHandler):  # type: ignore[misc]
    """Sends each line of an answer at once, not when the arrival of the one before has been confirmed."""

    disable_nagle_algorithm = True


def _connect_controls(app: Dash) -> None:
    """Controls to the state of the page and its address, and back."""
    held = Held("state", "data")
    names = (*FIELDS, "infinite")
    values = [Input(name, "value") for name in names]
    collected = [Output("state", "data"), Output("link", "content")]
    known = [Held("limits", "data"), Held("examples", "data")]
    app.clientside_callback(_in_page("collect"), *collected, *values, *known)
    asked = [Input("state", "data"), Input("dots", "data"), Held("client", "data")]
    app.clientside_callback(_in_page("ask"), Output("asked", "data"), *asked)

    def connect(move: Move, *given: Any, prevent: Any = True, **how: Any) -> None:
        controls = [Output(name, "value", allow_duplicate=True) for name in names]
        app.callback(*controls, _SAID, *given, prevent_initial_call=prevent, **how)(_moved(move))

    connect(_from_link, Input("url", "search"), Held("start", "data"), prevent="initial_duplicate")
    connect(_to_preset, Input({"preset": ALL, "to": ALL}, "n_clicks"))
    connect(_to_best, Input("best", "n_clicks"), held)
    connect(_to_click, Input("gap-shown", "clickData"), held)
    words = "Reading your graph; a large one takes a minute ..."
    files = [Input("upload", "contents"), Held("upload", "filename")]
    connect(_to_upload, *files, held, running=[(Output("reading", "children"), words, "")])


def _connect_trials(app: Dash, trials: Trials) -> None:
    """Buttons and progress of the sampled graphs."""

    def start(clicks: int, held: dict[str, Any], client: str) -> Any:
        try:
            trials.start(client, State.of(held))
        except GCNLimitError as error:
            return no_update, str(error)
        return False, ""

    def stop(clicks: int, client: str) -> Any:
        trials.stop(client)
        return no_update

    def follow(ticks: int, client: str) -> Any:
        run = trials.runs.get(client)
        if run is None:
            return no_update, "0", "", True, True, False
        done, total = len(run.results), run.state.trials
        rests = not run.running
        end = "; done" if done == total else "; stopped"
        words = run.sentence or f"{done} of {total} graphs{end * rests}"
        return done, str(done / total), words, rests, rests, run.running

    connect = partial(app.callback, prevent_initial_call=True)
    client = Held("client", "data")
    ticking = Output("tick", "disabled", allow_duplicate=True)
    clicked = Input("sample", "n_clicks")
    connect(ticking, _SAID, clicked, Held("state", "data"), client)(start)
    connect(Output("stop", "title"), Input("stop", "n_clicks"), client)(stop)
    progress = [Output("progress", "value"), Output("progress-text", "children")]
    buttons = [Output("stop", "disabled"), Output("sample", "disabled")]
    shown = [Output("dots", "data"), *progress, ticking, *buttons]
    connect(*shown, Input("tick", "n_intervals"), client)(follow)


def _moved(move: Move) -> Callable[..., tuple[Any, ...]]:
    """Values of the controls for a new state and what is said of it, or a sentence that says why there is none."""

    def values(*given: Any) -> tuple[Any, ...]:
        try:
            state, sentence = move(*given)
        except GCNLimitError as error:
            return (*[no_update] * (len(FIELDS) + 1), str(error))
        return (*_values(state), sentence)

    return values


def _values(state: State) -> tuple[Any, ...]:
    """Values of the controls that show a state."""
    infinite = not state.finite
    state = state.replaced(reg=1.0) if infinite else state
    values = {name: getattr(state, name) for name in FIELDS}
    values |= {name: ["yes"] if values[name] else [] for name in SWITCHES}
    return (*values.values(), ["yes"] if infinite else [])


def _from_link(search: str | None, start: str) -> tuple[State, Any]:
    try:
        return State.of_query(search or start), no_update
    except GCNLimitError as error:
        return State.of_query(start), f"The link cannot be shown: {error}."


def _to_preset(clicks: list[int | None]) -> tuple[State, str]:
    if not any(clicks):
        raise PreventUpdate
    return State.of_query(ctx.triggered_id["to"]), ""


def _to_best(clicks: int, held: dict[str, Any]) -> tuple[State, str]:
    return tuned(State.of(held)), ""


def _to_click(click: dict[str, Any], held: dict[str, Any]) -> tuple[State, str]:
    point = click["points"][0]
    return State.of({**held, "lam": point["x"], "mu": point["y"]}).rounded(), ""


def _to_upload(files: list[str] | None, names: list[str], held: Any) -> tuple[State, str]:
    if not files:
        raise PreventUpdate
    return describe_upload(State.of(held), files, names)


def _shown(picture: Picture) -> dict[str, Any]:
    """What the page draws; a picture that waits for its numbers stays as it was."""
    code = "\n\n".join(filter(None, (picture.python, picture.command)))
    shown = {"sentence": picture.sentence, "code": code, "complete": picture.complete}
    if picture.sentence == WAIT:
        return shown
    if picture.table is not None:
        return shown | {"table": picture.table}
    return shown | {"figure": picture.figure()}


def serve(start: State, sentence: str, *, host: str, port: int, browser: bool) -> None:
    """Serve until Ctrl-C."""
    # else a line for each movement of a slider
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    explorer = Explorer(start, sentence, {host, *_LOCAL})
    try:
        server = explorer.listen(host, port)
    except (OSError, SystemExit) as error:
        words = f"port {port} of {host} cannot be used ({error}); choose another with --port"
        raise GCNLimitError(words) from None
    address = f"http://{'[' + host + ']' if ':' in host else host}:{server.port}/"
    print(f"The explorer is at {address} (Ctrl-C ends it).", flush=True)
    if browser:
        threading.Timer(0.5, webbrowser.open, [address]).start()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    finally:
        server.server_close()
        explorer.close()
