"""The pictures over HTTP: each request is answered by lines of JSON, one for each picture as soon as it is known.

They go around the callbacks of Dash: the page asks for its latest state when the answer to the one before has been drawn, for the
pictures that are seen, and for everything else when the controls rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.explorer.answers import Answers
from gcnlimit.explorer.draw import figure
from gcnlimit.explorer.picture import WAIT, Picture
from gcnlimit.explorer.pictures import PICTURES
from gcnlimit.explorer.state import State
from gcnlimit.explorer.trials import Run, Trials
from gcnlimit.explorer.verdict import VERDICT, depth_helps, left_to_gain

LARGEST = 2**16
"""Bytes that a request for pictures may have."""


def connect_pictures(server: Any, answers: Answers, trials: Trials) -> None:
    """Answer the page's requests for pictures."""
    from flask import Response, request

    def pictures() -> Any:
        small = (request.content_length or 0) <= LARGEST
        found = _lines(request.get_json(silent=True) if small else None, answers, trials)
        return Response((json.dumps(line) + "\n" for line in found), mimetype="application/x-ndjson")

    server.add_url_rule("/pictures", "pictures", pictures, methods=["POST"])


def with_dots(name: str, picture: Picture, run: Run | None, state: State) -> Picture:
    """Picture with measured dots, if they are of this state."""
    dots = {} if run is None else run.curves(state)
    return replace(picture, curves=(*picture.curves, dots[name])) if name in dots else picture


class _Asked(NamedTuple):
    """What the page asks for: pictures of a state, those that are seen at once, or all of them when the controls rest."""

    values: dict[str, Any]
    client: str
    number: int
    theme: str
    seen: tuple[str, ...]
    rest: bool

    @classmethod
    def of(cls, given: Any) -> _Asked:
        try:
            asked = cls(
                dict(given["values"]),
                str(given["client"])[:64],
                int(given["number"]),
                str(given["theme"]),
                tuple(map(str, given["seen"])),
                bool(given.get("rest", False)),
            )
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            raise ParameterError("the request is not one of this page; reload it") from None
        if asked.theme not in {"light", "dark"} or not set(asked.seen) <= set(PICTURES):
            raise ParameterError("the request names no picture or theme of this page; reload it")
        return asked


def _lines(given: Any, answers: Answers, trials: Trials) -> Iterator[dict[str, Any]]:
    """Pictures and sentences of the state that is asked for, and what it is waiting for, last."""
    try:
        asked = _Asked.of(given)
        state, client, number = State.of(asked.values), asked.client, asked.number
        found = (answers.later if asked.rest else answers.now)(state, client, number, asked.seen)
        for name, picture in found:
            parts = answers.parts(VERDICT, state)
            drawn = with_dots(name, picture, trials.of(client), state)
            yield {
                "picture": name,
                **_shown(drawn, asked.theme),
                "depth": depth_helps(state, parts),
                "gain": left_to_gain(state, parts),
            }
        yield {"waiting": answers.waiting(state)}
    except GCNLimitError as error:
        yield {"refused": f"{str(error).rstrip('.')}."}


def _shown(picture: Picture, theme: str) -> dict[str, Any]:
    """What the page draws; a picture that waits for its numbers stays as it was."""
    code = "\n\n".join(filter(None, (picture.python, picture.command)))
    shown = {"sentence": picture.sentence, "code": code, "complete": picture.complete}
    if picture.sentence == WAIT:
        return shown
    if picture.table is not None:
        return shown | {"table": [picture.table.header, *picture.table.rows]}
    return shown | {"figure": figure(picture, theme)}
