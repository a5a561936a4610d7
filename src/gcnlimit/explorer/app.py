"""The application: what follows what among controls, address and sampled graphs; and its server.

Whatever changes the controls by itself (a link, an example, Tune, an upload) sets all of them from
one state, and the address of the page follows.

Pictures go around the callbacks of Dash: the page asks for its latest state when the answer to the one before is drawn,
for the pictures that are seen, and for everything else when the controls rest. A request is answered by lines of JSON,
one for each picture as soon as it is known.
"""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import sys
import threading
import time
import traceback
import webbrowser
from collections.abc import Callable, Collection, Iterator
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dash import ALL, ClientsideFunction, Dash, Input, Output, ctx, no_update
from dash import State as Held
from dash.exceptions import PreventUpdate
from flask import Response, request, send_file
from werkzeug.exceptions import HTTPException
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from gcnlimit._runtime.threads import cores
from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.answers import Answers, Trials, Workers
from gcnlimit.explorer.computations import COMPUTATIONS
from gcnlimit.explorer.curves import tuned
from gcnlimit.explorer.page import READING, layout, said
from gcnlimit.explorer.pictures import PICTURES
from gcnlimit.explorer.sentences import answers, capital, refusal
from gcnlimit.explorer.start import LARGEST, describe_upload
from gcnlimit.explorer.state import FIELDS, SWITCHES, State

Move = Callable[..., tuple[State, Any]]
"""From what was clicked to a state, and what is said of it."""

_in_page = partial(ClientsideFunction, "explorer")  # a function of the scripts in `assets`
_SAID = Output("message", "children", allow_duplicate=True)
_READING = 300.0  # seconds that an upload may take, so that nobody waits for it for ever
_SMALL = 2**20  # bytes of a request without files
_PARTS = 10_000  # lists, fields and their parts in a request with files
_NAME = 64  # letters of the name of a client, which is kept
_LOCAL = ("127.0.0.1", "localhost", "::1")
_FAULT = "The explorer failed; reload the page. The window in which it was started says more."
_UNKNOWN = "The page asked for something unknown; reload it."
_STRANGER = "This explorer answers only to the address it was started with.\n"
_MALFORMED = "The explorer does not understand this request.\n"


class Explorer:
    """The explorer as a web application that first shows a state and a sentence; `close` ends its processes.

    It answers requests to its `hosts`, and refuses all others with one sentence.
    """

    def __init__(self, start: State, sentence: str = "", hosts: Collection[str] = _LOCAL) -> None:
        self._hosts, self._start = hosts, start
        quick, slow, sampling = Workers(), Workers(max(1, min(4, cores() - 1))), Workers()
        self._workers = quick, slow, sampling
        self.answers = Answers(quick, slow)
        self.trials = Trials(sampling)
        app = Dash("gcnlimit.explorer", title="gcnlimit explorer", update_title="")
        app.index_string = app.index_string.replace("<html>", '<html lang="en">')
        first = (Path(__file__).parent / "assets/first.html").read_text()
        app.index_string = app.index_string.replace("{%metas%}", "{%metas%}" + first)
        app.layout = lambda: layout(start, sentence)
        _connect_controls(app, sampling)  # no map of another client is waited for
        _connect_trials(app, self.trials)
        self.server = app.server
        # two files in base64, and the state
        self.server.config["MAX_CONTENT_LENGTH"] = 2 * (4 * LARGEST // 3) + 2**20
        self.server.before_request(self._check)
        self.server.register_error_handler(Exception, self._refuse)
        script = str(files("plotly") / "package_data/plotly.min.js")
        self.server.add_url_rule("/plotly.js", "plotly", lambda: send_file(script))
        self.server.add_url_rule("/pictures", "pictures", self._pictures, methods=["POST"])

    def listen(self, host: str, port: int) -> BaseWSGIServer:
        """Server of the page at an address."""
        how: Any = {"threaded": True, "request_handler": _Handler}
        server = make_server(host, port, self.server, **how)
        server.daemon_threads = True
        server.handle_error = lambda *_: self._log("a broken request")
        return server

    def prepare(self, state: State) -> None:
        """Start the processes, and have them compute what the page shows first, before anyone asks for it."""

        def compute() -> None:
            with contextlib.suppress(GCNLimitError, RuntimeError, OSError):  # closed meanwhile
                for _ in self.answers.later(state, "", 0, []):
                    pass

        threading.Thread(target=compute, daemon=True).start()

    def close(self) -> None:
        """End the processes that compute."""
        for worker in self._workers:
            worker.close()

    def _check(self) -> Response | None:
        host = request.headers.get("Host", "")
        try:
            if {*host} & {*"@/?#\\ "}:  # more than a host and its port
                raise ValueError
            asked = [urlsplit(at) for at in (f"//{host}", *request.headers.getlist("Origin"))]
            here, *pages = ((one.hostname, one.port) for one in asked)
        except ValueError:
            return Response(_MALFORMED, 400)
        if here[0] not in self._hosts or any(page != here for page in pages):
            return Response(_STRANGER, 403)
        if request.path != "/_dash-update-component":
            request.max_content_length = _SMALL
        # of a large request almost all is the text of files: lists take 20 times their size
        elif len(raw := request.get_data()) > _SMALL and sum(map(raw.count, b"[{,:")) > _PARTS:
            return Response(_MALFORMED, 413)
        return None

    def _refuse(self, error: Exception) -> Any:
        """Answer to a request that Dash or a callback could not handle: one sentence, and one line where it was started."""
        if isinstance(error, HTTPException):
            return error
        self._log("a request that cannot be answered")
        return Response(_MALFORMED, 400)

    def _log(self, what: str) -> None:
        """Log the error that is being handled, and where it was raised, in one line."""
        error = sys.exc_info()[1]
        *_, place = traceback.extract_tb(error.__traceback__) if error else [None]
        words = " ".join(f"{type(error).__name__}: {str(error)[:200]}".split())
        where = f"{Path(place.filename).name}:{place.lineno}" if place else "?"
        self.server.logger.error("%s (%s, %s)", what, words, where)

    def _pictures(self) -> Response:
        asked = request.get_json(silent=True)
        understood = _is_asked(asked)
        reply = self._lines(asked) if understood else iter([{"refused": _UNKNOWN}])
        lines = (f"{json.dumps(line)}\n" for line in reply)
        return Response(lines, 200 if understood else 400, mimetype="application/x-ndjson")

    def _lines(self, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Pictures and sentences of the state that is asked for, and what it is waiting for, last."""
        memory = self.answers
        try:
            state = State.of(asked["values"]) if asked["values"] else self._start
            client = asked["client"]
            answer = memory.later if asked.get("rest") else memory.now
            for name, picture in answer(state, client, asked["number"], asked["seen"]):
                drawn = self.trials.with_dots(name, picture, client, state)
                words = answers(state, memory.results(COMPUTATIONS, state))
                yield {"picture": name, **drawn.shown(), "answers": words}
            yield {"waiting": memory.waiting(state)}
        except GCNLimitError as error:
            yield {"refused": refusal(error)}
        except Exception:
            self.server.logger.exception("a request that cannot be answered")
            yield {"refused": _FAULT}


def _is_asked(asked: Any) -> bool:
    """Whether a request for pictures is one that the page makes."""
    kinds = {"values": dict, "client": str, "number": int, "seen": list}
    if not isinstance(asked, dict) or not all(isinstance(asked.get(k), kinds[k]) for k in kinds):
        return False
    if len(asked["client"]) > _NAME or len(asked["seen"]) > len(PICTURES):
        return False
    return all(isinstance(name, str) and name in PICTURES for name in asked["seen"])


class _Handler(WSGIRequestHandler):  # type: ignore[misc]
    """Sends each line of an answer at once, before the one before has arrived, and waits for a client at most `timeout`.

    A whole request arrives within `arrival`, or is dropped.
    """

    disable_nagle_algorithm = True
    timeout = 20  # seconds
    arrival = 120.0  # seconds, for the largest upload on a slow line

    def handle_one_request(self) -> None:
        """Read one request and answer it; what has not arrived in time, however it drips, is not read."""
        late = threading.Timer(self.arrival, self.connection.shutdown, [socket.SHUT_RD])
        late.daemon = True
        late.start()
        try:
            super().handle_one_request()
        finally:
            late.cancel()

    def run_wsgi(self) -> None:
        """Answer a request; one whose address cannot be parsed is refused."""
        try:
            # the log writes the address, with its port
            urlsplit(self.make_environ()["REQUEST_URI"]).port  # noqa: B018
        except ValueError:
            self.path = "/"  # else the line of the log would fail on it as well
            self.send_error(400)
            return
        super().run_wsgi()


def _connect_controls(app: Dash, workers: Workers) -> None:
    """Controls to the state of the page and its address, and back."""
    held = Held("state", "data")
    names = (*FIELDS, "infinite")
    values = [Input(name, "value") for name in names]
    collected = [Output("state", "data"), Output("link", "content")]
    shared = [Held("limits", "data"), Held("examples", "data")]
    app.clientside_callback(_in_page("collect"), *collected, *values, *shared)
    asked = [Input("state", "data"), Input("dots", "data"), Held("client", "data")]
    app.clientside_callback(_in_page("ask"), Output("asked", "data"), *asked)
    for name, source in (("lesson", "lessons"), ("alike", "state")):
        app.clientside_callback(_in_page(name), Output(name, "title"), Input(source, "data"))
    told = [Output("message", "title"), Input("message", "children")]
    app.clientside_callback(_in_page("told"), *told)

    def connect(move: Move, *inputs: Any, prevent: Any = True, **how: Any) -> None:
        controls = [Output(name, "value", allow_duplicate=True) for name in names]
        app.callback(*controls, _SAID, *inputs, prevent_initial_call=prevent, **how)(_moved(move))

    connect(_from_link, Input("url", "search"), Held("start", "data"), prevent="initial_duplicate")
    connect(_to_preset, Input({"preset": ALL, "to": ALL}, "n_clicks"))
    connect(lambda _, held: (tuned(State.of(held)), ""), Input("best", "n_clicks"), held)
    files = [Input("upload", "contents"), Input("again", "n_clicks"), Held("upload", "filename")]
    how = [Held(f"read-{name}", "value") for name in READING]
    running = [(Output("reading", "children"), "Reading your graph, perhaps for a minute ...", "")]
    connect(partial(_to_upload, workers), *files, held, *how, running=running)


def _connect_trials(app: Dash, trials: Trials) -> None:
    """Buttons and progress of the sampled graphs."""

    def start(clicks: int, held: dict[str, Any], client: str) -> Any:
        try:
            trials.start(client[:_NAME], State.of(held))
        except GCNLimitError as error:
            return no_update, capital(f"{error}.")
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

    def values(*inputs: Any) -> tuple[Any, ...]:
        try:
            state, sentence = move(*inputs)
        except GCNLimitError as error:
            return (*[no_update] * (len(FIELDS) + 1), capital(f"{error}."))
        shown = {**vars(state), "infinite": not state.finite}
        shown["reg"] = state.reg if state.finite else 1.0
        shown |= {name: ["yes"] if shown[name] else [] for name in (*SWITCHES, "infinite")}
        return (*shown.values(), sentence if sentence is no_update else said(sentence))

    return values


def _from_link(search: str | None, start: str) -> tuple[State, Any]:
    try:
        return State.of_query(search or start), no_update
    except GCNLimitError as error:
        return State.of_query(start), f"The link cannot be shown: {error}."


def _to_preset(clicks: list[int | None]) -> tuple[State, str]:
    if not any(clicks):
        raise PreventUpdate
    return State.of_query(ctx.triggered_id["to"]), ""


def _to_upload(
    workers: Workers, files: list[str] | None, again: Any, names: list[str], held: Any, *inputs: Any
) -> tuple[State, str]:
    """State of the files that were uploaded, read in another process as the fields beside the upload say."""
    if not files:
        raise PreventUpdate
    how = {name: value for name, value in zip(READING, inputs, strict=True) if value}
    for name in {"drop", "words"} & {*how}:
        how[name] = [column.strip() for column in how[name].split(",")]
    if "undirected" in how:
        how["undirected"] = True
    call = partial(describe_upload, State.of(held), files, names, **how)
    end = time.monotonic() + _READING
    answer = workers.run(call, unwanted=lambda: time.monotonic() > end)
    if answer is None:
        words = f"your graph could not be read within {_READING / 60:g} minutes"
        raise GCNLimitError(f"{words}; use gl.recommend in Python")
    return answer


def serve(start: State, sentence: str, *, host: str, port: int, browser: bool) -> None:
    """Serve until Ctrl-C."""
    # else a line for each movement of a slider
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    explorer = Explorer(start, sentence, {host, *_LOCAL})
    explorer.prepare(start)
    try:
        server = explorer.listen(host, port)
    except (OSError, SystemExit) as error:
        words = f"port {port} of {host} cannot be used ({error}); choose another with --port"
        raise GCNLimitError(words) from None
    address = f"http://{'[' + host + ']' if ':' in host else host}:{server.port}/"
    try:
        with contextlib.suppress(KeyboardInterrupt):
            print(f"The explorer is at {address} (Ctrl-C ends it).", flush=True)
            if browser:
                threading.Timer(0.5, webbrowser.open, [address]).start()
            server.serve_forever()
    finally:
        server.server_close()
        explorer.close()
