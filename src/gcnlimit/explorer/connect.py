"""What follows what: controls, the address of the page, pictures, sampled graphs and downloads.

Whatever changes the controls by itself (a link, a preset, "best", a click on the map, an upload) writes the query of the address,
and one function sets the controls from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, ctx, dcc, no_update
from dash import State as Held

from gcnlimit.errors import GCNLimitError
from gcnlimit.explorer.answers import Answers
from gcnlimit.explorer.page import FIELDS, TITLES, position
from gcnlimit.explorer.pictures import best
from gcnlimit.explorer.presets import PRESETS
from gcnlimit.explorer.route import with_dots
from gcnlimit.explorer.state import LIMITS, State
from gcnlimit.explorer.trials import Trials
from gcnlimit.explorer.upload import describe_upload

_SWITCHES = ("directed", "symmetrize")


def connect_controls(app: Dash) -> None:
    """Controls to the state of the page and its address, and back."""
    for name in LIMITS:
        inputs = [Input(name, "value"), Held("limits", "data")]
        slider = Output(f"{name}-slider", "value")
        app.clientside_callback(ClientsideFunction("explorer", "follow"), slider, *inputs, prevent_initial_call=True)
    values = [Input(name, "value") for name in (*FIELDS, "infinite")]
    collected = [Output("state", "data"), Output("link", "content")]
    app.clientside_callback(ClientsideFunction("explorer", "collect"), *collected, *values, Held("limits", "data"))
    app.clientside_callback(ClientsideFunction("explorer", "theme"), Output("theme", "data"), Input("mode", "value"))
    asked = [Input("state", "data"), Input("theme", "data"), Input("dots", "data"), Held("client", "data")]
    app.clientside_callback(ClientsideFunction("explorer", "ask"), Output("asked", "data"), *asked)

    controls = [Output(name, "value", allow_duplicate=True) for name in (*FIELDS, "infinite")]
    controls += [Output(f"{name}-slider", "value", allow_duplicate=True) for name in LIMITS]
    link = [Input("url", "search"), Held("start", "data")]
    app.callback(*controls, _said(), *link, prevent_initial_call="initial_duplicate")(_from_link)

    way, held = Output("url", "search", allow_duplicate=True), Held("state", "data")
    app.callback(way, Input({"preset": ALL}, "n_clicks"), prevent_initial_call=True)(_to_preset)
    app.callback(way, _said(), Input("best", "n_clicks"), held, prevent_initial_call=True)(_to_best)
    app.callback(way, _said(), Input("gap-shown", "clickData"), held, prevent_initial_call=True)(_to_click)
    files = [Input("upload", "contents"), Held("upload", "filename")]
    app.callback(way, _said(), *files, held, prevent_initial_call=True)(_to_upload)


def connect_downloads(app: Dash, answers: Answers, trials: Trials) -> None:
    """Each picture to its files."""
    for name in TITLES:
        for kind in () if name == "table" else ("png", "svg"):
            button = f"{name}-{kind}"
            saved = (Output(button, "title"), Input(button, "n_clicks"))
            app.clientside_callback(ClientsideFunction("explorer", "save"), *saved, prevent_initial_call=True)

    def csv(clicks: list[int | None], held: dict[str, Any], client: str) -> Any:
        chosen = ctx.triggered_id
        if not any(clicks) or not isinstance(chosen, dict):
            return no_update
        name, state = chosen["of"], State.of(held)
        picture = with_dots(name, answers.complete(name, state), trials.of(client), state)
        return dcc.send_string(picture.csv() + "\n", f"gcnlimit-{name}.csv")

    page = [Held("state", "data"), Held("client", "data")]
    buttons = Input({"take": "csv", "of": ALL}, "n_clicks")
    app.callback(Output("csv", "data"), buttons, *page, prevent_initial_call=True)(csv)


def connect_trials(app: Dash, trials: Trials) -> None:
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
        done, total = len(run.results), run.state.trials
        end = "" if run.running else "; done" if done == total else "; stopped"
        words = run.sentence or f"{done} of {total} graphs{end}"
        return done, str(done / total), words, not run.running, not run.running, run.running

    client, ticking = Held("client", "data"), Output("tick", "disabled", allow_duplicate=True)
    begin = [Input("sample", "n_clicks"), Held("state", "data"), client]
    app.callback(ticking, _said(), *begin, prevent_initial_call=True)(start)
    app.callback(Output("stop", "title"), Input("stop", "n_clicks"), client, prevent_initial_call=True)(stop)
    shown = [Output("dots", "data"), Output("progress", "value"), Output("progress-text", "children"), ticking]
    shown += [Output("stop", "disabled"), Output("sample", "disabled")]
    app.callback(*shown, Input("tick", "n_intervals"), client, prevent_initial_call=True)(follow)


def _said() -> Output:
    return Output("message", "children", allow_duplicate=True)


def _from_link(search: str | None, start: str) -> tuple[Any, ...]:
    """Values of the controls for the query of a link, and a sentence if it is impossible."""
    sentence: Any = no_update
    try:
        state = State.of_query(search or start)
    except GCNLimitError as error:
        state, sentence = State.of_query(start), f"The link cannot be shown: {error}."
    infinite = state.reg == float("inf")
    state = state.replaced(reg=1.0) if infinite else state
    values = {name: getattr(state, name) for name in FIELDS}
    values |= {name: ["yes"] if values[name] else [] for name in _SWITCHES}
    sliders = [position(name, values[name]) for name in LIMITS]
    return (*values.values(), ["yes"] if infinite else [], *sliders, sentence)


def _to_preset(clicks: list[int | None]) -> Any:
    chosen = ctx.triggered_id
    return PRESETS[chosen["preset"]].query() if any(clicks) and isinstance(chosen, dict) else no_update


def _to_best(clicks: int, held: dict[str, Any]) -> Any:
    return _moved(lambda: best(State.of(held)))


def _to_click(click: dict[str, Any], held: dict[str, Any]) -> Any:
    point = click["points"][0]
    return _moved(lambda: State.of(held | {"lam": round(point["x"], 4), "mu": round(point["y"], 4)}))


def _to_upload(contents: list[str] | None, names: list[str], held: dict[str, Any]) -> Any:
    if not contents:
        return no_update, no_update
    try:
        found = describe_upload(State.of(held), contents, names)
    except GCNLimitError as error:
        return no_update, str(error)
    return found.state.query(), "\n".join(found.sentences)


def _moved(go: Callable[[], State]) -> tuple[Any, Any]:
    """Query of a new state, or a sentence that says why there is none."""
    try:
        return go().query(), ""
    except GCNLimitError as error:
        return no_update, str(error)
