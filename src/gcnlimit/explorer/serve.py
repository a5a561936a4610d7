"""Serve the explorer on this machine alone, unless told otherwise."""

from __future__ import annotations

import logging
import threading
import webbrowser
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from werkzeug.serving import WSGIRequestHandler, make_server

from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.app import Explorer
from gcnlimit.explorer.state import State
from gcnlimit.explorer.upload import LARGEST

_LOCAL = ("127.0.0.1", "localhost", "::1")


class Handler(WSGIRequestHandler):  # type: ignore[misc]
    """Sends each line of an answer at once, not when the arrival of the one before has been confirmed."""

    disable_nagle_algorithm = True


def guard(server: Any, hosts: Collection[str]) -> None:
    """Refuse requests that name another host or come from a page of another one, and bodies that are too large."""
    from flask import Response, request

    server.config["MAX_CONTENT_LENGTH"] = 2 * (4 * LARGEST // 3) + 2**20  # two files in base64, and the state

    def check() -> Response | None:
        names = [urlsplit(f"//{request.headers.get('Host', '')}").hostname]
        if "Origin" in request.headers:
            names.append(urlsplit(request.headers["Origin"]).hostname)
        if all(name in hosts for name in names):
            return None
        sentence = "This explorer answers only to the address that it was started with.\n"
        return Response(sentence, 403, mimetype="text/plain")

    server.before_request(check)


def serve(start: State, sentence: str = "", *, host: str = "127.0.0.1", port: int = 8050, browser: bool = True) -> None:
    """Serve until Ctrl-C."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else a line for each movement of a slider
    explorer = Explorer(start, sentence)
    guard(explorer.app.server, {host, *_LOCAL})
    try:
        server = make_server(host, port, explorer.app.server, threaded=True, request_handler=Handler)
    except (OSError, SystemExit) as error:
        raise GCNLimitError(f"port {port} of {host} cannot be used ({error}); choose another with --port") from None
    address = f"http://{'[' + host + ']' if ':' in host else host}:{server.port}/"
    print(f"The explorer is at {address} (Ctrl-C ends it).", flush=True)
    if browser:
        threading.Timer(0.5, webbrowser.open, [address]).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
        explorer.close()
