"""Serve the explorer on this machine alone, unless told otherwise: the page, and its pictures.

Pictures go around the callbacks of Dash: the page asks for its latest state when the answer to the one before has been drawn, for
the pictures that are seen, and for everything else when the controls rest. A request is answered by lines of JSON, one for each
picture as soon as it is known.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import traceback
import webbrowser
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import urlsplit

from flask import Response, request
from werkzeug.exceptions import HTTPException
from werkzeug.serving import WSGIRequestHandler, make_server

from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.explorer.app import Explorer
from gcnlimit.explorer.picture import Picture
from gcnlimit.explorer.pictures import PICTURES
from gcnlimit.explorer.sentences import ANSWERS, WAIT, answers
from gcnlimit.explorer.start import LARGEST as LARGEST_FILE
from gcnlimit.explorer.state import State

LARGEST = 2**16
"""Bytes that a request for pictures may have."""

_LOCAL = ("127.0.0.1", "localhost", "::1")
_RELOAD = "the request is not one of this page; reload it"
_FAULT = "This is a fault of the explorer; the window in which it was started says more."


class Handler(WSGIRequestHandler):  # type: ignore[misc]
    """Sends each line of an answer at once, not when the arrival of the one before has been confirmed."""

    disable_nagle_algorithm = True


def server_of(explorer: Explorer, hosts: Collection[str]) -> Any:
    """The explorer's server: its page and pictures for requests to these hosts, and one sentence for all others."""
    server = explorer.app.server
    server.config["MAX_CONTENT_LENGTH"] = 2 * (4 * LARGEST_FILE // 3) + 2**20  # two files in base64, and the state

    def check() -> Response | None:
        asked = [f"//{request.headers.get('Host', '')}", *request.headers.getlist("Origin")]
        if all(_host(address) in hosts for address in asked):
            return None
        return _text("This explorer answers only to the address that it was started with.", 403)

    def refuse(error: Exception) -> Any:
        """A request that the web framework does not understand is not one of this page; any other error is a fault of ours."""
        if isinstance(error, HTTPException | GCNLimitError):
            return error if isinstance(error, HTTPException) else _text(f"{error}.", 400)
        frames = traceback.walk_tb(error.__traceback__)
        if any(str(frame.f_globals.get("__name__")).startswith("gcnlimit.") for frame, _ in frames):
            server.logger.error("a fault of the explorer", exc_info=error)
            return _text(_FAULT, 500)
        server.logger.warning("refused a request: %r", error)
        return _text(f"{_RELOAD}.", 400)

    def pictures() -> Response:
        small = (request.content_length or 0) <= LARGEST
        found = _lines(request.get_json(silent=True) if small else None, explorer)
        return Response((json.dumps(line) + "\n" for line in found), mimetype="application/x-ndjson")

    server.before_request(check)
    server.register_error_handler(Exception, refuse)
    server.add_url_rule("/pictures", "pictures", pictures, methods=["POST"])
    return server


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _text(sentence: str, status: int) -> Response:
    return Response(f"{sentence}\n", status, mimetype="text/plain")


def _lines(given: Any, explorer: Explorer) -> Iterator[dict[str, Any]]:
    """Pictures and sentences of the state that is asked for, and what it is waiting for, last."""
    known = explorer.answers
    try:
        values, client, number, theme, seen, rest = _asked(given)
        state = State.of(values)
        found = (known.later if rest else known.now)(state, client, number, seen)
        for name, picture in found:
            drawn = explorer.trials.with_dots(name, picture, client, state)
            words = answers(state, known.results(ANSWERS, state))
            yield {"picture": name, **_shown(drawn, theme), "answers": words}
        yield {"waiting": known.waiting(state)}
    except GCNLimitError as error:
        yield {"refused": f"{str(error).rstrip('.')}."}
    except Exception:
        explorer.app.server.logger.exception("a fault of the explorer")
        yield {"refused": _FAULT}


def _asked(given: Any) -> tuple[dict[str, Any], str, int, str, tuple[str, ...], bool]:
    """Values of the controls, client, number of its states, theme, pictures that are seen, and whether the controls rest."""
    try:
        client, theme = str(given["client"])[:64], str(given["theme"])
        values, seen = dict(given["values"]), tuple(map(str, given["seen"]))
        number, rest = int(given["number"]), bool(given.get("rest", False))
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise ParameterError(_RELOAD) from None
    if theme not in {"light", "dark"} or not set(seen) <= set(PICTURES):
        raise ParameterError(_RELOAD)
    return values, client, number, theme, seen, rest


def _shown(picture: Picture, theme: str) -> dict[str, Any]:
    """What the page draws; a picture that waits for its numbers stays as it was."""
    code = "\n\n".join(filter(None, (picture.python, picture.command)))
    shown = {"sentence": picture.sentence, "code": code, "complete": picture.complete}
    if picture.sentence == WAIT:
        return shown
    if picture.table is not None:
        return shown | {"table": picture.table}
    return shown | {"figure": picture.figure(theme)}


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
