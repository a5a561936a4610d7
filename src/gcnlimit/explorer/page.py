"""The page: controls on one side, which stay on the screen, and pictures on the other."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dash import dcc, html

from gcnlimit.csbm import SIGNALS
from gcnlimit.explorer.pictures import PICTURES, axis_name
from gcnlimit.explorer.start import LARGEST, PRESETS
from gcnlimit.explorer.state import CHOICES, FAMILIES, LIMITS, State, family_name
from gcnlimit.parameters import long_name

_ABOUT = (
    "Exact accuracy of graph convolutional networks on the contextual stochastic block model, "
    "in the limit of large graphs, and how far it is from the best possible."
)
_QUESTIONS = {
    "depth-answer": "Where does depth stop helping?",
    "gain-answer": "What is left to gain?",
    "elsewhere-answer": "What does it reach on another graph?",
}
_TEXT = (Path(__file__).parent / "assets/formulas.md").read_text()
_FORMULAS = dict(part.split("\n", 1) for part in _TEXT.split("\n## ")[1:])
_LABELS = {
    "classes": "Classes: their number, or fractions",
    "directed": "Directed graph",
    "estimated": "Estimated from your graph",
    "family": "Family",
    "coefficients": "Coefficients of the polynomial",
    "loss": "Loss",
    "infinite": "Infinite regularization",
    "symmetrize": "Symmetrize the graph",
    "normalization": "Normalization by the degrees",
    "elsewhere": "Test on another graph",
    "axis": "Vary",
    "degrees_variance": "hubs: variance of the degrees",
    "to_lam": "signal of the other graph (lam')",
    "to_mu": "signal of its features (mu')",
}
_LABELS |= {name: f"{long_name(name)} ({name})" for name in LIMITS if name not in _LABELS}
_DATA = (*SIGNALS, "classes", "degrees_variance", "directed", "estimated")
_FILTER = ("family", "depth", *FAMILIES.values())
_LEARNING = ("loss", "infinite", "reg", "symmetrize", "normalization")


def layout(start: State, sentence: str = "") -> Any:
    """The page with a state to begin with; each load of the page is a client of its own."""
    sliders = {name: [*limit.slider, limit.log, limit.whole] for name, limit in LIMITS.items()}
    presets = {name: state.texts() for group in PRESETS.values() for name, state in group.items()}
    stored: dict[str, Any] = {"client": uuid.uuid4().hex, "limits": sliders, "examples": presets}
    stored |= {"start": start.query(), "state": None, "dots": None, "asked": None}
    spoken = {"role": "status", "aria-live": "polite"}
    # reached by the keyboard, since their box is scrolled on narrow screens
    lines = [html.Div([html.Dt(words), html.Dd(id=name)], id=f"{name}-control") for name, words in _QUESTIONS.items()]
    main = [
        html.Div(sentence, id="message", className="message", tabIndex="0", **spoken),
        html.Div(id="refusal", className="message"),
        html.Div(id="spoken", className="spoken", **spoken),
        html.Section(html.Dl(lines), className="answers", tabIndex="0", **{"aria-label": "Answers at this point"}),
        *_pictures(start),
    ]
    return html.Div(
        [
            *(dcc.Store(id=name, data=data) for name, data in stored.items()),
            dcc.Location(id="url", refresh=False),
            dcc.Interval(id="tick", interval=400, disabled=True),
            html.Header([html.H1("gcnlimit explorer"), html.P(_ABOUT)]),
            html.Aside(_controls(start), tabIndex="0", **{"aria-label": "Controls"}),
            html.Main(main),
        ],
        className="explorer",
    )


def _controls(start: State) -> list[Any]:
    copy = [html.Span("Link to this state "), dcc.Clipboard(id="link", title="Copy the link")]
    return [
        _group("Start from", *_starts()),
        _group("Data", *(_control(name, start) for name in _DATA)),
        _group(
            "Network",
            *(_control(name, start) for name in (*_FILTER, *_LEARNING)),
            html.Button("Tune", id="best", title="Tune the strength, and a finite regularization with it"),
        ),
        _group("Another graph", *(_control(name, start) for name in ("elsewhere", "to_lam", "to_mu"))),
        _group(
            "Check by simulation",
            *(_control(name, start) for name in ("nodes", "degree", "trials")),
            html.Button("Run", id="sample"),
            html.Button("Stop", id="stop", disabled=True),
            html.Progress(id="progress", value="0", max="1", **{"aria-label": "Graphs sampled"}),
            html.Span("", id="progress-text", role="status"),
        ),
        html.Div(copy, className="row"),
    ]


def _starts() -> list[Any]:
    """Examples, and a graph of one's own."""
    examples: list[Any] = []
    for title, states in PRESETS.items():
        examples.append(html.H4(title))
        for name, state in states.items():
            examples.append(html.Button(name, {"preset": name, "to": state.query()}, className="preset"))
    words = f"My graph: .npz, or edges and nodes as .csv (up to {LARGEST // 2**20} MB)"
    return [
        html.Details([html.Summary("Examples"), html.Div(examples, id="presets")]),
        dcc.Upload(html.Button(words), id="upload", multiple=True),
        html.Div("", id="reading", role="status"),
    ]


def _group(title: str, *children: Any) -> Any:
    return html.Details([html.Summary(title), *children], open=True, className="group")


def _control(name: str, start: State) -> Any:
    """Control of a field of the state, or the switch for an infinite regularization, which stands for a number."""
    value: Any = math.isinf(start.reg) if name == "infinite" else getattr(start, name)
    if name in CHOICES:
        return _choice(name, CHOICES[name], value)
    if isinstance(value, bool):
        options = [{"label": f" {_LABELS[name]}", "value": "yes"}]
        return html.Div(dcc.Checklist(options, ["yes"] if value else [], id=name), id=f"{name}-control")
    fields = [dcc.Input(id=name, type="text", value=value, debounce=True, maxLength=80)]
    if name in LIMITS:
        value = 1.0 if math.isinf(value) else value
        slider = dcc.Input(id=f"{name}-slider", type="range", min=0, max=1000, step=1)
        fields = [slider, dcc.Input(id=name, type="number", step="any", value=value, debounce=True)]
    label = html.Label(_LABELS[name], htmlFor=name)
    return html.Div([label, *fields], className="number", id=f"{name}-control")


def _choice(name: str, options: Iterable[str], value: str) -> Any:
    """One of some words; families and axes as they are written."""
    written = {"family": family_name, "axis": axis_name}.get(name, str)
    items = [{"label": written(option), "value": option} for option in options]
    field = dcc.RadioItems(items, value, id=name, inline=True, className="choice")
    label = _LABELS[name]
    named = {"id": f"{name}-control", "aria-label": label}
    return html.Div([html.Div(label, className="label"), field], role="radiogroup", **named)


def _pictures(start: State) -> list[Any]:
    strengths = [_picture(f"strength-{family}") for family in ("residual", "diffusion", "pagerank")]
    title = html.H2("Against the strength of the filter")
    return [
        html.Section([title, html.Div(strengths, className="grid")]),
        html.Section(_picture("elsewhere"), id="elsewhere-section"),
        html.Section([_picture("axis", _control("axis", start)), _picture("gap")], className="grid"),
        html.Section([_picture(name) for name in ("layers", "depth", "spectrum")], className="grid"),
        _picture("table"),
    ]


def _picture(name: str, *above: Any) -> Any:
    shown: Any = html.Div(id=f"{name}-shown", className="table")
    if name != "table":
        shown = dcc.Graph(id=f"{name}-shown", config={"displayModeBar": False}, style={"height": "340px"})
    title = PICTURES[name].title
    more = html.Details(_more(name, title), className="more")
    return html.Figure(
        [html.H3(title, id=f"{name}-title"), *above, shown, html.Figcaption(id=f"{name}-sentence"), more],
        id=f"{name}-figure",
        className="picture",
        **{"aria-labelledby": f"{name}-title"},
    )


def _more(name: str, title: str) -> list[Any]:
    """Files, code and formula of a picture, each named for screen readers with the picture to which it belongs."""
    kinds = ("csv",) if name == "table" else ("csv", "png", "svg")
    files = [
        html.Button(kind.upper(), id=f"{name}-{kind}", className="save", **{"aria-label": f"{kind.upper()}: {title}"})
        for kind in kinds
    ]
    return [
        html.Summary("Save, code, formula", **{"aria-label": f"Save, code, formula: {title}"}),
        html.Div(files, className="row"),
        html.Pre(id=f"{name}-code", tabIndex="0", **{"aria-label": f"Code: {title}"}),
        dcc.Markdown(_FORMULAS[name.partition("-")[0]], mathjax=True),
    ]
