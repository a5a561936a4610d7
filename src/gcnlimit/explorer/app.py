"""The application: what follows what among controls, address and sampled graphs; and its server.

Whatever changes the controls by itself (a link, an example, Tune, a click on the map, an upload) sets all of them from one state,
and the address of the page follows.

Pictures go around the callbacks of Dash: the page asks for its latest state when the answer to the one before has been drawn,
for the pictures that are seen, and for everything else when the controls rest. A request is answered by lines of JSON, one for
each picture as soon as it is known.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import webbrowser
from collections.abc import Callable, Collection, Iterator
from typing import Any
from urllib.parse import urlsplit

from dash import ALL, ClientsideFunction, Dash, Input, Output, ctx, no_update
from dash import State as Held
from dash.exceptions import PreventUpdate
from flask import Response, request
from werkzeug.serving import WSGIRequestHandler, make_server

from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.answers import Answers, Trials, Worker
from gcnlimit.explorer.computations import tuned
from gcnlimit.explorer.page import layout
from gcnlimit.explorer.picture import Picture
from gcnlimit.explorer.sentences import ANSWERS, WAIT, answers
from gcnlimit.explorer.start import LARGEST, describe_upload
from gcnlimit.explorer.state import FIELDS, LIMITS, SWITCHES, State

_LOCAL = ("127.0.0.1", "localhost", "::1")
_FAULT = "The explorer failed; reload the page. The window in which it was started says more."


class Explorer:
    """The explorer as a web application, `app`, that shows a state and a sentence at first; `close` ends its processes."""

    def __init__(self, start: State | None = None, sentence: str = "") -> None:
        self._workers = Worker(), Worker(), Worker()
        self.answers = Answers(*self._workers[:2])
        self.trials = Trials(self._workers[2])
        self.app = Dash("gcnlimit.explorer", title="gcnlimit explorer", update_title="", serve_locally=True)
        self.app.index_string = self.app.index_string.replace("<html>", '<html lang="en">')
        self.app.layout = lambda: layout(start or State(), sentence)
        _connect_controls(self.app)
        _connect_trials(self.app, self.trials)

    def close(self) -> None:
        """End the processes that compute."""
        for worker in self._workers:
            worker.close()


def _connect_controls(app: Dash) -> None:
    """Controls to the state of the page and its address, and back."""
    for name in LIMITS:
        inputs = [Input(name, "value"), Held("limits", "data")]
        slider = Output(f"{name}-slider", "value")
        app.clientside_callback(_in_page("follow"), slider, *inputs)
    values = [Input(name, "value") for name in (*FIELDS, "infinite")]
    collected = [Output("state", "data"), Output("link", "content")]
    app.clientside_callback(_in_page("collect"), *collected, *values, Held("limits", "data"), Held("examples", "data"))
    asked = [Input("state", "data"), Input("dots", "data"), Held("client", "data")]
    app.clientside_callback(_in_page("ask"), Output("asked", "data"), *asked)

    controls = [Output(name, "value", allow_duplicate=True) for name in (*FIELDS, "infinite")]
    link = [Input("url", "search"), Held("start", "data")]
    app.callback(*controls, _said(), *link, prevent_initial_call="initial_duplicate")(_from_link)

    shown = [*controls, _said()]
    held = Held("state", "data")
    app.callback(*shown, Input({"preset": ALL, "to": ALL}, "n_clicks"), prevent_initial_call=True)(_to_preset)
    app.callback(*shown, Input("best", "n_clicks"), held, prevent_initial_call=True)(_to_best)
    app.callback(*shown, Input("gap-shown", "clickData"), held, prevent_initial_call=True)(_to_click)
    files = [Input("upload", "contents"), Held("upload", "filename"), held]
    busy = [(Output("reading", "children"), "Reading your graph; a large one takes a minute ...", "")]
    app.callback(*shown, *files, running=busy, prevent_initial_call=True)(_to_upload)


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
        run = trials.of(client)
        if run is None:
            return no_update, "0", "", True, True, False
        done = len(run.results)
        total = run.state.trials
        end = "" if run.running else "; done" if done == total else "; stopped"
        words = run.sentence or f"{done} of {total} graphs{end}"
        return done, str(done / total), words, not run.running, not run.running, run.running

    client = Held("client", "data")
    ticking = Output("tick", "disabled", allow_duplicate=True)
    begin = [Input("sample", "n_clicks"), Held("state", "data"), client]
    app.callback(ticking, _said(), *begin, prevent_initial_call=True)(start)
    app.callback(Output("stop", "title"), Input("stop", "n_clicks"), client, prevent_initial_call=True)(stop)
    shown = [Output("dots", "data"), Output("progress", "value"), Output("progress-text", "children"), ticking]
    shown += [Output("stop", "disabled"), Output("sample", "disabled")]
    app.callback(*shown, Input("tick", "n_intervals"), client, prevent_initial_call=True)(follow)


def _in_page(function: str) -> ClientsideFunction:
    """A function of the scripts in `assets`."""
    return ClientsideFunction("explorer", function)


def _said() -> Output:
    return Output("message", "children", allow_duplicate=True)


def _from_link(search: str | None, start: str) -> tuple[Any, ...]:
    """Values of the controls for the query of a link, and a sentence if it is impossible."""
    sentence: Any = no_update
    try:
        state = State.of_query(search or start)
    except GCNLimitError as error:
        state = State.of_query(start)
        sentence = f"The link cannot be shown: {error}."
    return (*_values(state), sentence)


def _values(state: State) -> tuple[Any, ...]:
    """Values of the controls that show a state."""
    infinite = state.reg == float("inf")
    state = state.replaced(reg=1.0) if infinite else state
    values = {name: getattr(state, name) for name in FIELDS}
    values |= {name: ["yes"] if values[name] else [] for name in SWITCHES}
    return (*values.values(), ["yes"] if infinite else [])


def _to_preset(clicks: list[int | None]) -> Any:
    if not any(clicks):
        raise PreventUpdate
    return _moved(lambda: (State.of_query(ctx.triggered_id["to"]), ""))


def _to_best(clicks: int, held: dict[str, Any]) -> Any:
    return _moved(lambda: (tuned(State.of(held)), ""))


def _to_click(click: dict[str, Any], held: dict[str, Any]) -> Any:
    point = click["points"][0]
    values = {**held, "lam": point["x"], "mu": point["y"]}
    return _moved(lambda: (State.of(values).rounded(), ""))


def _to_upload(contents: list[str] | None, names: list[str], held: dict[str, Any]) -> Any:
    if not contents:
        raise PreventUpdate
    return _moved(lambda: describe_upload(State.of(held), contents, names))


def _moved(go: Callable[[], tuple[State, str]]) -> tuple[Any, ...]:
    """Values of the controls for a new state and what is said of it, or a sentence that says why there is none."""
    try:
        state, sentence = go()
    except GCNLimitError as error:
        return (*[no_update] * (len(FIELDS) + 1), str(error))
    return (*_values(state), sentence)


class Handler(WSGIRequestHandler):  # type: ignore[misc]
    """Sends each line of an answer at once, not when the arrival of the one before has been confirmed."""

    disable_nagle_algorithm = True


def server_of(explorer: Explorer, hosts: Collection[str]) -> Any:
    """The explorer's server: its page and pictures for requests to these hosts, and one sentence for all others."""
    server = explorer.app.server
    server.config["MAX_CONTENT_LENGTH"] = 2 * (4 * LARGEST // 3) + 2**20  # two files in base64, and the state

    def check() -> Response | None:
        asked = [f"//{request.headers.get('Host', '')}", *request.headers.getlist("Origin")]
        if all(urlsplit(address).hostname in hosts for address in asked):
            return None
        return Response("This explorer answers only to the address that it was started with.\n", 403)

    def pictures() -> Response:
        found = _lines(request.get_json(silent=True), explorer)
        return Response((json.dumps(line) + "\n" for line in found), mimetype="application/x-ndjson")

    server.before_request(check)
    server.add_url_rule("/pictures", "pictures", pictures, methods=["POST"])
    return server


def _lines(given: Any, explorer: Explorer) -> Iterator[dict[str, Any]]:
    """Pictures and sentences of the state that is asked for, and what it is waiting for, last."""
    known = explorer.answers
    try:
        state = State.of(given["values"])
        client = given["client"]
        found = (known.later if given.get("rest") else known.now)(state, client, given["number"], given["seen"])
        for name, picture in found:
            drawn = explorer.trials.with_dots(name, picture, client, state)
            words = answers(state, known.results(ANSWERS, state))
            yield {"picture": name, **_shown(drawn), "answers": words}
        yield {"waiting": known.waiting(state)}
    except GCNLimitError as error:
        yield {"refused": f"{str(error).rstrip('.')}."}
    except Exception:
        explorer.app.server.logger.exception("a request that cannot be answered")
        yield {"refused": _FAULT}


def _shown(picture: Picture) -> dict[str, Any]:
    """What the page draws; a picture that waits for its numbers stays as it was."""
    code = "\n\n".join(filter(None, (picture.python, picture.command)))
    shown = {"sentence": picture.sentence, "code": code, "complete": picture.complete}
    if picture.sentence == WAIT:
        return shown
    if picture.table is not None:
        return shown | {"table": picture.table}
    return shown | {"figure": picture.figure()}


def serve(start: State, sentence: str = "", *, host: str = "127.0.0.1", port: int = 8050, browser: bool = True) -> None:
    """Serve until Ctrl-C."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else a line for each movement of a slider
    explorer = Explorer(start, sentence)
    app = server_of(explorer, {host, *_LOCAL})
    try:
        server = make_server(host, port, app, threaded=True, request_handler=Handler)
    except (OSError, SystemExit) as error:
        raise GCNLimitError(f"port {port} of {host} cannot be used ({error}); choose another with --port") from None
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
