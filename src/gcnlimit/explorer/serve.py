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
import webbrowser
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import urlsplit

from flask import Response, request
from werkzeug.serving import WSGIRequestHandler, make_server

from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.app import Explorer
from gcnlimit.explorer.picture import Picture
from gcnlimit.explorer.sentences import ANSWERS, WAIT, answers
from gcnlimit.explorer.start import LARGEST
from gcnlimit.explorer.state import State

_LOCAL = ("127.0.0.1", "localhost", "::1")
_FAULT = "The explorer failed; reload the page. The window in which it was started says more."


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
        state, client, theme = State.of(given["values"]), given["client"], given["theme"]
        found = (known.later if given.get("rest") else known.now)(state, client, given["number"], given["seen"])
        for name, picture in found:
            drawn = explorer.trials.with_dots(name, picture, client, state)
            words = answers(state, known.results(ANSWERS, state))
            yield {"picture": name, **_shown(drawn, theme), "answers": words}
        yield {"waiting": known.waiting(state)}
    except GCNLimitError as error:
        yield {"refused": f"{str(error).rstrip('.')}."}
    except Exception:
        explorer.app.server.logger.exception("a request that cannot be answered")
        yield {"refused": _FAULT}


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
