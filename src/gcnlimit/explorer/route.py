"""The pictures over HTTP: one small request for each movement, and one for each picture that takes longer.

They go around the callbacks of Dash, so that the page asks for its latest state when the previous answer has been drawn, and only
what changed is drawn again.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.explorer.answers import Answers
from gcnlimit.explorer.draw import figure
from gcnlimit.explorer.picture import Picture
from gcnlimit.explorer.pictures import PICTURES
from gcnlimit.explorer.state import State
from gcnlimit.explorer.trials import Trials
from gcnlimit.explorer.verdict import VERDICT, depth_helps, left_to_gain

__all__ = ["connect_pictures", "with_dots"]

LARGEST = 2**16
"""Bytes that a request for pictures may have."""


def connect_pictures(server: Any, answers: Answers, trials: Trials) -> None:
    """Answer the page's requests for pictures."""
    from flask import jsonify, request

    def pictures() -> Any:
        if (request.content_length or 0) > LARGEST:
            return jsonify({"refused": "The request is larger than any state of this page; reload it."}), 413
        began = time.thread_time()
        try:
            answer = jsonify(_answer(request.get_json(silent=True), answers, trials))
        except GCNLimitError as error:
            answer = jsonify({"refused": f"{str(error).rstrip('.')}."})
        answer.headers["Server-Timing"] = f"processor;dur={1e3 * (time.thread_time() - began):.1f}"
        return answer

    server.add_url_rule("/pictures", "pictures", pictures, methods=["POST"])


def with_dots(pictures: dict[str, Picture], trials: Trials, client: str, state: State) -> dict[str, Picture]:
    """Pictures with the measured dots of a client, if they are of this state."""
    run = trials.of(client)
    dots = {} if run is None else run.curves(state)
    return {
        name: replace(picture, curves=(*picture.curves, dots[name])) if name in dots else picture
        for name, picture in pictures.items()
    }


def _answer(asked: Any, answers: Answers, trials: Trials) -> dict[str, Any]:
    """Pictures and sentences of the state that is asked for; none if it is not the latest."""
    values, client, number, theme, name = _read(asked)
    state = State.of(values)
    found = answers.later(name, state, client, number) if name else answers.now(state, client, number)
    drawn = with_dots(found, trials, client, state)
    parts = answers.parts(VERDICT, state)
    return {
        "pictures": {name: _shown(picture, theme) for name, picture in drawn.items()},
        "waiting": _waiting(drawn, state),
        "depth": depth_helps(state, parts),
        "gain": left_to_gain(state, parts),
    }


def _waiting(pictures: dict[str, Picture], state: State) -> list[str]:
    """Pictures that are to be completed, that of the chosen family first."""
    names = [name for name, picture in pictures.items() if not picture.complete]
    return sorted(names, key=lambda name: name != f"strength-{state.family}")


def _read(asked: Any) -> tuple[dict[str, Any], str, int, str, str]:
    """State, client, number, theme, and the picture to be completed, which is empty if all are asked for at once."""
    try:
        values, client, number = dict(asked["values"]), str(asked["client"])[:64], int(asked["number"])
        theme, name = str(asked["theme"]), str(asked.get("picture", ""))
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise ParameterError("the request is not one of this page; reload it") from None
    if theme not in {"light", "dark"} or name not in {"", *PICTURES}:
        raise ParameterError("the request names no picture or theme of this page; reload it")
    return values, client, number, theme, name


def _shown(picture: Picture, theme: str) -> dict[str, Any]:
    code = "\n\n".join(filter(None, (picture.python, picture.command)))
    shown = {"sentence": picture.sentence, "code": code, "complete": picture.complete}
    if picture.table is not None:
        return shown | {"table": [picture.table.header, *picture.table.rows]}
    return shown | {"figure": figure(picture, theme)}
