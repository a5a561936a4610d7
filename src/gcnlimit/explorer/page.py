"""The page: controls on one side, which stay on the screen, and pictures on the other."""

from __future__ import annotations

import math
import uuid
from pathlib import Path
from typing import Any

from dash import dcc, html

from gcnlimit.explorer.pictures import MEASURES, PICTURES, axis_name
from gcnlimit.explorer.start import LARGEST, PRESETS
from gcnlimit.explorer.state import CHOICES, FAMILIES, LIMITS, State
from gcnlimit.parameters import long_name

_ABOUT = (
    "Exact accuracy of graph convolutional networks on the contextual stochastic block model, "
    "in the limit of large graphs, and how far it is from the best possible."
)
_QUESTIONS = {"depth-answer": "Where does depth stop helping?", "gain-answer": "What is left to gain?"}
_TEXT = (Path(__file__).parent / "assets/formulas.md").read_text()
_FORMULAS = dict(part.split("\n", 1) for part in _TEXT.split("\n## ")[1:])
_GAP_FOR = {"best": "the best of the family", "network": "this network"}


def layout(start: State, sentence: str = "") -> Any:
    """The page with a state to begin with; each load of the page is a client of its own."""
    sliders = {name: [*limit.slider, limit.log, limit.whole] for name, limit in LIMITS.items()}
    presets = {name: state.texts() for group in PRESETS.values() for name, state in group.items()}
    stored: dict[str, Any] = {
        "client": uuid.uuid4().hex,
        "limits": sliders,
        "examples": presets,
        "start": start.query(),
    }
    stored |= {"state": None, "theme": "light", "dots": None, "asked": None}
    spoken = {"role": "status", "aria-live": "polite"}
    main = [
        html.Div(sentence, id="message", className="message", tabIndex="0", **spoken),
        html.Div(id="refusal", className="message"),
        html.Div(id="spoken", className="spoken", **spoken),
        _answers(),
        *_pictures(start),
    ]
    return html.Div(
        [
            *(dcc.Store(id=name, data=data) for name, data in stored.items()),
            dcc.Location(id="url", refresh=False),
            dcc.Interval(id="tick", interval=400, disabled=True),
            dcc.Download(id="csv"),
            html.Header([html.H1("gcnlimit explorer"), html.P(_ABOUT)]),
            html.Aside(_controls(start), tabIndex="0", **{"aria-label": "Controls"}),
            html.Main(main),
        ],
        className="explorer",
    )


def _controls(start: State) -> list[Any]:
    finite = start.replaced(reg=1.0) if math.isinf(start.reg) else start
    return [
        _group("Start from", _presets(), *_upload()),
        _group(
            "Data",
            *(_number(name, start) for name in ("alpha", "lam", "mu", "rho")),
            _text("classes", "Classes: their number, or fractions", start),
            _switch("directed", "Directed graph", start.directed),
            _switch("estimated", "Estimated from your graph", start.estimated),
        ),
        _group(
            "Network",
            _choice("family", "Family", dict.fromkeys(FAMILIES, ""), start.family),
            *(_number(name, start) for name in ("depth", "c", "t", "theta")),
            _text("coefficients", "Coefficients of the polynomial", start),
            _choice("loss", "Loss", dict.fromkeys(CHOICES["loss"], ""), start.loss),
            _switch("infinite", "Infinite regularization", math.isinf(start.reg)),
            _number("reg", finite),
            _switch("symmetrize", "Symmetrize the graph", start.symmetrize),
            html.Button("Tune", id="best", title="Tune the strength, and a finite regularization with it"),
        ),
        _group(
            "Check by simulation",
            *(_number(name, start) for name in ("nodes", "degree", "trials")),
            html.Button("Run", id="sample"),
            html.Button("Stop", id="stop", disabled=True),
            html.Progress(id="progress", value="0", max="1", **{"aria-label": "Graphs sampled"}),
            html.Span("", id="progress-text", role="status"),
        ),
        _group(
            "This page",
            _choice("mode", "Colours", dict.fromkeys(("automatic", "light", "dark"), ""), "automatic"),
            html.Div(
                [html.Span("Link to this state "), dcc.Clipboard(id="link", title="Copy the link")], className="row"
            ),
        ),
    ]


def _presets() -> Any:
    groups = []
    for title, states in PRESETS.items():
        buttons = [html.Button(name, id={"preset": name}, className="preset") for name in states]
        groups += [html.H4(title), *buttons]
    return html.Details([html.Summary("Examples"), html.Div(groups, id="presets")])


def _upload() -> tuple[Any, Any]:
    words = f"My graph: .npz, or edges and nodes as .csv (up to {LARGEST // 2**20} MB)"
    field = dcc.Upload(html.Button(words), id="upload", multiple=True, max_size=LARGEST)
    return field, html.Div("", id="reading", role="status")


def _group(title: str, *children: Any) -> Any:
    return html.Details([html.Summary(title), *children], open=True, className="group")


def _number(name: str, start: State) -> Any:
    value = getattr(start, name)
    slider = dcc.Input(id=f"{name}-slider", type="range", min=0, max=1000, step=1, value=position(name, value))
    field = dcc.Input(id=name, type="number", step="any", value=value, debounce=True)
    return html.Div(
        [html.Label(f"{long_name(name)} ({name})", htmlFor=name), slider, field],
        className="number",
        id=f"{name}-control",
    )


def position(name: str, value: float) -> int:
    """Position of a slider, 0 ... 1000.

    >>> position("lam", 0.0), position("alpha", 100.0), position("mu", 400.0)
    (500, 1000, 1000)
    """
    limit = LIMITS[name]
    low, high, at = (math.log(v) if limit.log else v for v in (*limit.slider, value))
    return min(max(round(1000 * (at - low) / (high - low)), 0), 1000)


def _text(name: str, label: str, start: State) -> Any:
    field = dcc.Input(id=name, type="text", value=getattr(start, name), debounce=True, maxLength=80)
    return html.Div([html.Label(label, htmlFor=name), field], className="number", id=f"{name}-control")


def _choice(name: str, label: str, options: dict[str, str], value: str) -> Any:
    """One of some words, each with another label if it has one."""
    items = [{"label": words or option, "value": option} for option, words in options.items()]
    field = dcc.RadioItems(items, value, id=name, inline=True, className="choice")
    return html.Div([html.Div(label, className="label"), field], role="radiogroup", **{"aria-label": label})


def _switch(name: str, label: str, value: bool) -> Any:
    field = dcc.Checklist([{"label": f" {label}", "value": "yes"}], ["yes"] if value else [], id=name)
    return html.Div(field, id=f"{name}-control")


def _answers() -> Any:
    """The two questions of the page; reached by the keyboard, since the box is scrolled on narrow screens."""
    lines = [line for name, question in _QUESTIONS.items() for line in (html.Dt(question), html.Dd(id=name))]
    return html.Section(html.Dl(lines), className="answers", tabIndex="0", **{"aria-label": "Answers at this point"})


def _pictures(start: State) -> list[Any]:
    axes = {axis: axis_name(axis) for axis in CHOICES["axis"]}
    return [
        html.Section(
            [
                html.H2("Against the strength of the filter"),
                _choice("measure", "Show", MEASURES, start.measure),
                html.Div([_picture(f"strength-{f}") for f in ("residual", "diffusion", "pagerank")], className="grid"),
            ]
        ),
        html.Section(
            [
                _picture("axis", _choice("axis", "Vary", axes, start.axis)),
                _picture("gap", _choice("gap", "Gap for", _GAP_FOR, start.gap)),
            ],
            className="grid",
        ),
        html.Section([_picture(name) for name in ("layers", "depth", "spectrum")], className="grid"),
        _picture("table"),
    ]


def _picture(name: str, *above: Any) -> Any:
    shown: Any = html.Div(id=f"{name}-shown", className="table")
    if name != "table":
        shown = dcc.Graph(id=f"{name}-shown", config={"displayModeBar": False}, style={"height": "340px"})
    title = PICTURES[name].title
    return html.Figure(
        [
            html.H3(title, id=f"{name}-title"),
            *above,
            shown,
            html.Figcaption(id=f"{name}-sentence"),
            html.Details(_more(name, title), className="more"),
        ],
        id=f"{name}-figure",
        className="picture",
        **{"aria-labelledby": f"{name}-title"},
    )


def _more(name: str, title: str) -> list[Any]:
    """Files, code and formula of a picture, each named for screen readers with the picture to which it belongs."""
    files = [html.Button("CSV", id={"take": "csv", "of": name}, **{"aria-label": f"CSV: {title}"})]
    for kind in () if name == "table" else ("PNG", "SVG"):
        files.append(html.Button(kind, id=f"{name}-{kind.lower()}", **{"aria-label": f"{kind}: {title}"}))
    return [
        html.Summary("Save, code, formula", **{"aria-label": f"Save, code, formula: {title}"}),
        html.Div(files, className="row"),
        html.Pre(id=f"{name}-code", tabIndex="0", **{"aria-label": f"Code: {title}"}),
        dcc.Markdown(_FORMULAS[name.partition("-")[0]], mathjax=True),
    ]
